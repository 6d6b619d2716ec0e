import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineChannelPluginEntry } from "../../src/api/parts/channel-core.ts";
import { buildChannelConfigSchema } from "../../src/api/channel-config-schema.ts";
import { createTypingCallbacks } from "../../src/api/channel-message.ts";
import { resolveChannelGroupRequireMention } from "../../src/api/channel-policy.ts";
import {
  resolveDirectDmAuthorizationOutcome,
  resolveSenderCommandAuthorizationWithRuntime,
} from "../../src/api/command-auth.ts";
import { loadConfig, writeConfigFile } from "../../src/api/config-runtime.ts";
import {
  buildCanonicalSentMessageHookContext,
  fireAndForgetHook,
  toPluginMessageContext,
  toPluginMessageSentEvent,
} from "../../src/api/hook-runtime.ts";
import { resolvePreferredOpenClawTmpDir, withFileLock } from "../../src/api/infra-runtime.ts";
import { sendForOutbox } from "../../src/plugins/outbox-send.ts";
import { readNumberParam, readStringArrayParam, readStringParam } from "../../src/api/parts/param-readers.ts";
import { getGlobalHookRunner } from "../../src/api/plugin-runtime.ts";
import { applyAccountNameToChannelSection } from "../../src/api/setup.ts";
import { jsonResult } from "../../src/api/parts/tool-results.ts";
import { extractToolSend } from "../../src/api/parts/tool-send.ts";
import { setPluginHost } from "../../src/plugins/host-slot.ts";

let forget: () => void = () => undefined;
afterEach(() => forget());

function hostWith(hooks: Readonly<Record<string, readonly ((event: object) => unknown)[]>>): void {
  forget = setPluginHost({
    compact: async () => ({ ok: false, compacted: false }),
    memoryPrompt: () => [],
    hooksOf: (name) => hooks[name] ?? [],
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
