import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { defineChannelPluginEntry } from "../../src/api/parts/channel-core.ts";
import { buildChannelConfigSchema } from "../../src/api/channel-config-schema.ts";
import { createTypingCallbacks } from "../../src/api/channel-message.ts";
import { resolveChannelGroupRequireMention } from "../../src/api/channel-policy.ts";
import {
  maybeResolveTextAlias,
  resolveDirectDmAuthorizationOutcome,
  resolveNativeCommandSessionTargets,
  resolveSenderCommandAuthorizationWithRuntime,
} from "../../src/api/command-auth.ts";
import { loadConfig, writeConfigFile } from "../../src/api/config-runtime.ts";
import {
  buildCanonicalSentMessageHookContext,
  fireAndForgetHook,
  toPluginMessageContext,
  toPluginMessageSentEvent,
} from "../../src/api/hook-runtime.ts";
import { resolvePreferredOpenClawTmpDir, runFfmpeg, runFfprobe, withFileLock } from "../../src/api/infra-runtime.ts";
import { sendForOutbox } from "../../src/plugins/outbox-send.ts";
import { readNumberParam, readStringArrayParam, readStringParam } from "../../src/api/parts/param-readers.ts";
import { getGlobalHookRunner } from "../../src/api/plugin-runtime.ts";
import {
  isAbortRequestText,
  isBtwRequestText,
  normalizeLowercaseStringOrEmpty,
  normalizeOptionalLowercaseString,
  normalizeOptionalString,
  parseInlineDirectives,
} from "../../src/api/reply-runtime.ts";
import { applyAccountNameToChannelSection, formatDocsLink } from "../../src/api/setup.ts";
import { jsonResult } from "../../src/api/parts/tool-results.ts";
import { extractToolSend } from "../../src/api/parts/tool-send.ts";
import { keyNames } from "../../src/sessions/shown/wire-keys.ts";
import { DEFAULT_AGENT } from "../../src/types/ids.ts";
import { setPluginHost } from "../../src/plugins/host-slot.ts";

let forget: () => void = () => undefined;
afterEach(() => forget());

function hostWith(hooks: Readonly<Record<string, readonly ((event: object) => unknown)[]>>): void {
  forget = setPluginHost({
    keys: keyNames(() => DEFAULT_AGENT),
    compact: async () => ({ ok: false, compacted: false }),
    memoryPrompt: () => [],
    hooksOf: (name) => hooks[name] ?? [],
    commandNames: () => [],
    config: () => ({ channels: { chat: { token: "***" } } }),
  });
}

describe("the modules of the SDK that channels import", () => {
  test("a channel's config schema is JSON Schema, and parses", () => {
    const made = buildChannelConfigSchema(z.object({ token: z.string(), on: z.boolean().default(true) }));
    expect(made.schema).toMatchObject({ type: "object", required: ["token"] });
    expect(made.safeParse({ token: "t" })).toMatchObject({ success: true, data: { on: true } });
    expect(buildChannelConfigSchema({ safeParse: () => 1 }).schema).toEqual({
      type: "object",
      additionalProperties: true,
    });
  });

  test("the temporary folder is private, and a locked file is not locked twice", async () => {
    expect(statSync(resolvePreferredOpenClawTmpDir()).mode & 0o077).toBe(0);
    const dir = mkdtempSync(join(tmpdir(), "sdk-"));
    const file = join(dir, "list.json");
    writeFileSync(file, "[]");
    const options = { stale: 10_000 };
    const inner = withFileLock(file, options, async () => withFileLock(file, options, async () => "both"));
    await expect(inner).rejects.toThrow("already being held");
    expect(await withFileLock(file, options, async () => "free again")).toBe("free again");
    rmSync(dir, { recursive: true });
  });

  test("hooks of messages change a text one after the other, or cancel it", async () => {
    expect(getGlobalHookRunner()).toBeNull();
    const sent: unknown[] = [];
    hostWith({
      message_sending: [
        (event) => ({ content: `${(event as { content: string }).content} one` }),
        (event) => ({ content: `${(event as { content: string }).content} two` }),
      ],
      message_sent: [(event) => sent.push(event)],
    });
    const runner = getGlobalHookRunner();
    expect([runner?.hasHooks("message_sending"), runner?.hasHooks("message_received")]).toEqual([true, false]);
    expect(await runner?.runMessageSending({ to: "u", content: "text" }, {})).toEqual({ content: "text one two" });
    const canonical = buildCanonicalSentMessageHookContext({ to: "u", content: "x", success: true, channelId: "chat" });
    await runner?.runMessageSent(toPluginMessageSentEvent(canonical), toPluginMessageContext(canonical));
    expect(sent).toEqual([{ to: "u", content: "x", success: true }]);
    expect(toPluginMessageContext(canonical)).toEqual({ channelId: "chat", conversationId: "u" });
    forget();
    hostWith({ message_sending: [() => ({ cancel: true })] });
    expect(sendForOutbox(() => getGlobalHookRunner()?.hasHooks("message_sending"))).toBe(false);
    expect(await getGlobalHookRunner()?.runMessageSending({ to: "u", content: "text" }, {})).toEqual({ cancel: true });
  });

  test("a hook that nobody waits for is reported when it fails", async () => {
    const reported = Promise.withResolvers<string>();
    fireAndForgetHook(Promise.reject(new Error("no disk")), "message_sent", reported.resolve);
    expect(await reported.promise).toBe("message_sent: no disk");
  });

  test("a sender is allowed by the channel's lists", async () => {
    const asked = {
      cfg: {},
      rawBody: "/new",
      isGroup: false,
      dmPolicy: "pairing",
      configuredAllowFrom: ["owner"],
      senderId: "friend",
      isSenderAllowed: (id: string, list: readonly string[]) => list.includes(id),
      readAllowFromStore: async () => ["friend"],
      runtime: {
        shouldComputeCommandAuthorized: (text: string) => text.startsWith("/"),
        resolveCommandAuthorizedFromAuthorizers: (request: { authorizers: readonly { allowed: boolean }[] }) =>
          request.authorizers.some(({ allowed }) => allowed),
      },
    };
    const paired = await resolveSenderCommandAuthorizationWithRuntime(asked);
    expect(paired).toMatchObject({ senderAllowedForCommands: true, commandAuthorized: true });
    const listed = await resolveSenderCommandAuthorizationWithRuntime({ ...asked, dmPolicy: "allowlist" });
    expect(listed).toMatchObject({ senderAllowedForCommands: false, commandAuthorized: false });
    const direct = { isGroup: false, dmPolicy: "pairing" };
    const outcomeOf = (senderAllowedForCommands: boolean) =>
      resolveDirectDmAuthorizationOutcome({ ...direct, senderAllowedForCommands });
    expect([outcomeOf(true), outcomeOf(false)]).toEqual(["allowed", "unauthorized"]);
  });

  test("a plugin reads the config and cannot write it", async () => {
    hostWith({});
    expect(loadConfig()).toEqual({ channels: { chat: { token: "***" } } });
    await expect(writeConfigFile({})).rejects.toThrow("openclaw config set");
  });

  test("the typing indicator begins once and ends once", async () => {
    const calls: string[] = [];
    const note = (what: string) => async () => calls.push(what);
    const typing = createTypingCallbacks({
      start: note("start"),
      stop: note("stop"),
      onStartError: (error) => calls.push(String(error)),
    });
    await typing.onReplyStart();
    await typing.onReplyStart();
    typing.onIdle();
    typing.onCleanup();
    expect(calls).toEqual(["start", "stop"]);
  });

  test("the setup names an account, and a group's own rule for mentions has priority", () => {
    const cfg = applyAccountNameToChannelSection({ cfg: {}, channelKey: "chat", accountId: "work", name: " W " });
    expect(cfg).toEqual({ channels: { chat: { accounts: { work: { name: "W" } } } } });
    const groups = { "*": { requireMention: false }, g1: { requireMention: true } };
    const asked = { cfg: { channels: { chat: { groups } } }, channel: "chat" };
    expect(resolveChannelGroupRequireMention({ ...asked, groupId: "g1" })).toBe(true);
    expect(resolveChannelGroupRequireMention({ ...asked, groupId: "other" })).toBe(false);
  });
});

describe("the modules of the SDK that tools import", () => {
  test("parameters are read as models write them, and results have both forms", () => {
    const params = { toName: " Ada ", empty: " ", count: "7", words: ["a", " ", "b"], snake_case: "found" };
    expect(readStringParam(params, "toName")).toBe("Ada");
    expect(readStringParam(params, "snakeCase")).toBe("found");
    expect(readStringParam(params, "empty")).toBeUndefined();
    expect(() => readStringParam(params, "nothing", { required: true, label: "a name" })).toThrow("a name required");
    expect(readNumberParam(params, "count", { integer: true })).toBe(7);
    expect(readStringArrayParam(params, "words")).toEqual(["a", "b"]);
    expect(readStringArrayParam(params, "toName")).toEqual(["Ada"]);
    expect(jsonResult({ ok: 1 })).toEqual({ content: [{ type: "text", text: '{\n  "ok": 1\n}' }], details: { ok: 1 } });
    expect(extractToolSend({ action: "sendMessage", to: "7", threadId: 3 })).toEqual({ to: "7", threadId: "3" });
    expect(extractToolSend({ action: "react", to: "7" })).toBeNull();
  });

  test("the entry of a channel registers what the process wants", () => {
    const calls: string[] = [];
    const entry = defineChannelPluginEntry({
      id: "chat",
      plugin: { id: "chat" },
      setRuntime: () => calls.push("runtime"),
      registerCliMetadata: () => calls.push("cli"),
      registerFull: () => calls.push("full"),
    });
    const register = (registrationMode: string) => {
      entry.register({ registrationMode, runtime: {}, registerChannel: () => calls.push("channel") });
      return calls.splice(0);
    };
    expect(register("full")).toEqual(["runtime", "channel", "cli", "full"]);
    expect(register("discovery")).toEqual(["runtime", "channel", "cli"]);
    expect(register("cli-metadata")).toEqual(["cli"]);
  });
});

describe("the modules of the SDK that read texts", () => {
  test.each([
    ["say [[audio_as_voice]] it", {}, { text: "say it", audioAsVoice: true, hasAudioTag: true, hasReplyTag: false }],
    ["[[reply_to_current]] yes", { currentMessageId: "m1" }, { text: "yes", replyToCurrent: true, replyToId: "m1" }],
    ["[[reply_to: m7]]\n  indented\nmore", {}, { text: "indented\nmore", replyToExplicitId: "m7", replyToId: "m7" }],
    ["a [[reply_to:x]] b", { stripReplyTags: false }, { text: "a [[reply_to:x]] b", hasReplyTag: true }],
    ["no  [[tag]]  here ", {}, { text: "no  [[tag]]  here ", hasAudioTag: false, hasReplyTag: false }],
    [undefined, {}, { text: "", audioAsVoice: false, replyToCurrent: false }],
  ])("the directives of %j are found", (text, options, found) => {
    expect(parseInlineDirectives(text, options)).toMatchObject(found);
  });

  test("texts are normalised, and what is no text is none", () => {
    expect(["  A b ", "  ", undefined, 7].map(normalizeOptionalString)).toEqual([
      "A b",
      undefined,
      undefined,
      undefined,
    ]);
    expect(normalizeOptionalLowercaseString(" A ")).toBe("a");
    expect(normalizeLowercaseStringOrEmpty(null)).toBe("");
  });

  test("a request to stop and a command are recognised as the gateway does", () => {
    expect(
      ["/stop", "/Abort.", "/cancel@bot", "/stop it", "stop", "/status"].map((text) => isAbortRequestText(text)),
    ).toEqual([true, true, true, false, false, false]);
    expect(isBtwRequestText("/btw what?")).toBe(false);
    forget = setPluginHost({
      keys: keyNames(() => DEFAULT_AGENT),
      compact: async () => ({ ok: false, compacted: false }),
      memoryPrompt: () => [],
      hooksOf: () => [],
      commandNames: () => ["notes"],
      config: () => ({}),
    });
    expect(
      ["/Status", "/model openai/gpt-5", "/notes milk", "/nobody", "status"].map((text) => maybeResolveTextAlias(text)),
    ).toEqual(["/status", "/model", "/notes", null, null]);
  });

  test("a button's command has a session of its own and the one that it is for", () => {
    const command = {
      agentId: "main",
      sessionPrefix: "chat:Button",
      userId: "U1",
      targetSessionKey: "chat:default:U1",
    };
    expect(resolveNativeCommandSessionTargets({ ...command, lowercaseSessionKey: true })).toEqual({
      sessionKey: "agent:main:chat:button:u1",
      commandTargetSessionKey: "chat:default:U1",
    });
    expect(resolveNativeCommandSessionTargets({ ...command, boundSessionKey: "bound" })).toEqual({
      sessionKey: "bound",
      commandTargetSessionKey: "bound",
    });
  });

  test("links of a setup are texts", () => {
    expect(formatDocsLink("https://example.com/x", "the docs")).toBe("the docs: https://example.com/x");
    expect(formatDocsLink("/channels/chat")).toBe("https://docs.openclaw.ai/channels/chat");
  });
});

describe("the programs of FFmpeg", () => {
  const path = process.env["PATH"];
  afterEach(() => {
    process.env["PATH"] = path;
  });

  function fakeProgram(script: string): void {
    const dir = mkdtempSync(join(tmpdir(), "sdk-ffmpeg-"));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    for (const name of ["ffmpeg", "ffprobe"]) writeFileSync(join(dir, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    process.env["PATH"] = `${dir}:${path}`;
  }

  test("get their arguments and input without a shell, and their output comes back", async () => {
    fakeProgram(`printf '%s|' "$@"; cat`);
    expect(await runFfprobe(["-v", "$HOME; ls"], { input: "bytes" })).toBe("-v|$HOME; ls|bytes");
  });

  test("are named when they fail, hang or are missing", async () => {
    fakeProgram("echo 'no such codec' >&2; exit 1");
    await expect(runFfmpeg(["x"])).rejects.toThrow("ffmpeg failed: no such codec");
    fakeProgram("exec sleep 20");
    await expect(runFfprobe([], { timeoutMs: 50 })).rejects.toThrow("ffprobe did not end within 50 ms");
    process.env["PATH"] = tmpdir();
    await expect(runFfmpeg([])).rejects.toThrow("ffmpeg is not on this machine: install FFmpeg");
  });
});
