import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { messageProblem, sendMessage } from "../../extensions/webchat/page/channels/channel-send.ts";
import { fieldsFor, problemOf, setupParams, sourcesOf } from "../../extensions/webchat/page/channels/channel-setup.ts";
import {
  remainingLink,
  reportedAccounts,
  readLogin,
  type Ask,
  type ReportedAccount,
} from "../../extensions/webchat/page/channels/channels.ts";
import { ANSWERS, type Answers } from "../../src/api/answers.ts";
import { bundledContributions } from "../../src/app/contributions/extensions.ts";
import { setupFields } from "../../src/channels/setup.ts";

const setups = bundledContributions().channels.map((channel) => ({
  channel: channel.id,
  label: channel.label,
  login: channel.id === "whatsapp",
  fields: setupFields(channel),
}));
const setupOf = (channel: string) => setups.find((one) => one.channel === channel)!;
const namesFor = (channel: string, source: "typed" | "file" | "env") =>
  fieldsFor(setupOf(channel), source).map(({ name }) => name);

describe("the setup form", () => {
  test("depends on where the secrets are", () => {
    expect(setups.map(sourcesOf)).toEqual([
      ["typed", "file", "env"],
      [],
      ["typed", "file", "env"],
      ["typed", "file", "env"],
      [],
    ]);
    expect(namesFor("slack", "typed")).toEqual(["botToken", "appToken", "secret"]);
    expect(namesFor("slack", "file")).toEqual(["appToken", "secret", "tokenFile"]);
    expect(namesFor("slack", "env")).toEqual(["secret"]);
    expect(namesFor("signal", "typed")).toEqual(["signalNumber", "httpUrl", "cliPath"]);
    expect(namesFor("whatsapp", "typed")).toEqual([]);
  });

  test("hides secrets", () => {
    const open = setups.flatMap(({ fields }) => fields.filter(({ secret }) => !secret).map(({ name }) => name));
    expect([...new Set(open)]).toEqual(["tokenFile", "signalNumber", "httpUrl", "cliPath"]);
  });

  test("is sent without the empty fields", () => {
    const values = new Map([
      ["token", "1:a"],
      ["tokenFile", ""],
    ]);
    const answers = { channel: "telegram", account: "", source: "typed", values, replace: false } as const;
    expect(setupParams(answers)).toEqual({ channel: "telegram", values: { token: "1:a" } });
    expect(setupParams({ ...answers, account: "work", source: "env", replace: true })).toMatchObject({
      accountId: "work",
      useEnv: true,
      replace: true,
    });
  });

  test("shows which answer was refused", () => {
    const cause = { refusal: { field: "token" } };
    expect(problemOf(new Error("No.", { cause }))).toEqual({ message: "No.", field: "token" });
    expect(problemOf(new Error("Lost."))).toEqual({ message: "Lost.", field: undefined });
  });
});

/** Answers each method with the answer of the table that has its name, once it has the shape that the method states. */
const answering =
  (answers: { readonly [Method in keyof Answers]?: z.input<(typeof ANSWERS)[Method]> }): Ask =>
  async (method) => {
    ANSWERS[method].parse(answers[method]);
    return answers[method] as Answers[typeof method];
  };

test("an account that is switched off is listed after those that the gateway has started", () => {
  const limits = { text: 2000, media: 10_485_760, format: "discord", album: 10 };
  const can = { limits, silent: true, login: false, logout: false, probe: true };
  const status = ANSWERS["channels.status"].parse({
    channelOrder: ["webchat", "discord"],
    channelLabels: { webchat: "Web chat", discord: "Discord" },
    channelAccounts: {
      webchat: [{ accountId: "default", enabled: true, connected: true, lifecycle: "running" }],
      discord: [{ accountId: "default", enabled: true, connected: false, lifecycle: "dead", lastError: "No token." }],
    },
  });
  const capabilities = ANSWERS["channels.capabilities"].parse({
    channels: [
      { channel: "discord", accountId: "default", label: "Discord", ...can, methods: ["edit", "react"] },
      { channel: "telegram", accountId: "work", label: "Telegram", ...can },
      { channel: "slack", label: "Slack", ...can },
    ],
  });
  const rows = reportedAccounts(status, capabilities);
  expect(rows.map(({ label, account, state, configured }) => [label, account, state, configured])).toEqual([
    ["Web chat", "default", "running", false],
    ["Discord", "default", "dead", true],
    ["Telegram", "work", "off", true],
  ]);
  expect(Object.fromEntries(rows[1]?.capabilities ?? [])).toMatchObject({
    Format: "discord",
    "Maximum message length": "2,000 characters",
    "Maximum file size": "10.0 MB",
    "Maximum caption length": "no captions",
    "Maximum files per message": "10",
    "Connection methods": "edit, react",
  });
});

describe("a message into a chat", () => {
  const from: ReportedAccount = {
    channel: "telegram",
    label: "Telegram",
    account: "work",
    state: "running",
    activity: "",
    connected: true,
    name: "",
    notices: [],
    error: "",
    fix: "",
    configured: true,
    login: false,
    capabilities: [],
  };
  const file = (size: number) => ({ name: "a.txt", size, read: async () => "YQ==" });
  const message = { to: "42", text: "hello", files: [file(1)], url: "", replyTo: "7" };

  const outcome = { channel: "telegram", accountId: "work", chatId: "42", chatKind: "direct" };

  test.each([
    [{ state: "sent" }, "Sent."],
    [{ state: "sent", possibleRepeat: true }, "Sent. The message may appear twice."],
    [{ state: "queued" }, "Queued: the platform has not answered yet."],
    [{ state: "queued", reason: "rate limit" }, "Queued: rate limit."],
    [{ state: "failed", reason: "blocked" }, "Not sent: blocked."],
  ] as const)("%j is shown as %j", async (answer, words) => {
    expect(await sendMessage(answering({ send: { ...outcome, ...answer } }), from, message, "k")).toBe(words);
  });

  test("is sent by the account with its file, and only with the given fields", async () => {
    const asked: unknown[] = [];
    const send = answering({ send: { ...outcome, state: "sent" } });
    const ask: Ask = (method, params) => {
      asked.push([method, params]);
      return send(method, params);
    };
    await sendMessage(ask, from, message, "key-1");
    await sendMessage(ask, from, { ...message, text: " ", replyTo: "" }, "key-2");
    await sendMessage(ask, from, { ...message, text: "", files: [], url: "https://a.b/c", replyTo: "" }, "key-3");
    const silent = { ...message, files: [], replyTo: "", thread: "9", silent: true, asVoice: true };
    await sendMessage(ask, from, silent, "key-4");
    const same = { channel: "telegram", accountId: "work", to: "42", tellFailure: true };
    const files = [{ buffer: "YQ==", filename: "a.txt" }];
    expect(asked).toEqual([
      ["send", { ...same, files, message: "hello", replyToId: "7", idempotencyKey: "key-1" }],
      ["send", { ...same, files, idempotencyKey: "key-2" }],
      ["send", { ...same, mediaUrls: ["https://a.b/c"], idempotencyKey: "key-3" }],
      ["send", { ...same, message: "hello", threadId: "9", silent: true, asVoice: true, idempotencyKey: "key-4" }],
    ]);
  });

  test("that cannot be sent is refused before it is sent", () => {
    const most = 26_214_400;
    expect(messageProblem({ ...message, to: "" }, most)).toBe("Enter a recipient.");
    expect(messageProblem({ ...message, text: " ", files: [] }, most)).toBe("Enter a text or choose a file.");
    expect(messageProblem({ ...message, files: Array.from({ length: 11 }, () => file(1)) }, most)).toContain(
      "At most 10",
    );
    expect(messageProblem({ ...message, files: [file(20_000_000)] }, most)).toBe(
      "Too large: at most 18.7 MB of files can be sent at once.",
    );
    expect(messageProblem(message, most)).toBeUndefined();
  });

  test("that is accepted fits into one frame", () => {
    const most = 20_000;
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 300 }),
        fc.array(fc.nat(9000), { maxLength: 10 }),
        (text, sizes) => {
          const files = sizes.map((size) => ({ name: "a".repeat(60), size, read: async () => "" }));
          fc.pre(messageProblem({ to: "42", text: `x${text}`, files, url: "", replyTo: "" }, most) === undefined);
          const buffers = sizes.map((size) => ({
            buffer: "A".repeat(Math.ceil(size / 3) * 4),
            filename: "a".repeat(60),
          }));
          const frame = JSON.stringify({ method: "send", params: { to: "42", message: `x${text}`, files: buffers } });
          expect(Buffer.byteLength(frame)).toBeLessThanOrEqual(most);
        },
      ),
    );
  });
});

test("a failed login is shown with its fix, and so is a link that another program holds", () => {
  const view = { loginId: "l", state: "failed", steps: [], next: 0, error: "Too late.", fix: "Do it again." } as const;
  const account = { channel: "signal", accountId: "default" };
  expect(readLogin(view)).toMatchObject({ state: "failed", message: "Too late. Do it again." });
  expect(remainingLink({ ...account, cleared: false, holder: "signal-cli holds it.", fix: "Ask there." })).toBe(
    "signal-cli holds it. Ask there.",
  );
  expect(remainingLink({ ...account, cleared: true })).toBeUndefined();
});
