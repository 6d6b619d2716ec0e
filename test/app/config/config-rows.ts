import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import { loadConfig } from "../../../src/app/config/load.ts";
import { makeStateDirs, resolvePaths } from "../../../src/app/config/paths.ts";
import { bundledContributions, contributedSchemas } from "../../../src/app/contributions/extensions.ts";
import { startGateway } from "../../../src/app/gateway/gateway.ts";
import { Live } from "../../../src/app/live.ts";
import { openLog } from "../../../src/app/log/log.ts";
import { startFakeModel, type ModelCall, type ModelReply } from "../../fakes/model.ts";
import { startFakeTelegram, type Speaker, type TelegramCall } from "../../fakes/telegram.ts";

type Json = { readonly [key: string]: unknown };

/** What the platform and the model have seen when all is answered. */
export interface Seen {
  readonly asked: readonly ModelCall[];
  readonly sent: readonly TelegramCall[];
}

/** What is said in a row, by whom, and how the model answers. */
export interface Talk {
  readonly says: readonly (readonly [text: string, by?: Speaker])[];
  readonly answer?: (call: ModelCall) => ModelReply;
}

export interface Row {
  readonly key: string;
  readonly config: Json;
  readonly talk: Talk;
  /** True with the key set, and false without it. */
  readonly shows: (seen: Seen) => boolean;
}

const TOKEN = "token-of-the-config";

const isTree = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);
const merged = (below: Json, above: Json): Json => ({
  ...below,
  ...Object.fromEntries(
    Object.entries(above).map(([key, value]) => {
      const old = below[key];
      return [key, isTree(old) && isTree(value) ? merged(old, value) : value];
    }),
  ),
});

/** A gateway with this config over a plain one; everything is said in order, each once the one before is done with. */
export async function watch(config: Json, { says, answer = () => ({ text: "fine" }) }: Talk): Promise<Seen> {
  const dir = mkdtempSync(join(tmpdir(), "config-behaviour-"));
  const [telegram, model] = await Promise.all([startFakeTelegram(), startFakeModel()]);
  model.answer(answer);
  const plain = {
    gateway: { port: 0, auth: { token: TOKEN } },
    models: {
      providers: {
        fake: {
          baseUrl: model.url,
          apiKey: "x",
          api: "openai-completions",
          models: [
            { id: "fake-1", contextWindow: 100_000, maxTokens: 4096, reasoning: true },
            { id: "fake-2", contextWindow: 100_000, maxTokens: 4096 },
          ],
        },
      },
    },
    logging: { level: "silent", consoleLevel: "silent" },
    agents: { defaults: { model: { primary: "fake/fake-1" } } },
    messages: { queue: { debounceMs: 0 } },
    channels: {
      telegram: {
        botToken: telegram.token,
        apiRoot: telegram.url,
        dmPolicy: "open",
        allowFrom: ["*"],
        streaming: { mode: "off" },
      },
    },
  };
  writeFileSync(join(dir, "openclaw.json"), JSON.stringify(merged(plain, config)));
  const paths = resolvePaths({ OPENCLAW_STATE_DIR: dir });
  await makeStateDirs(paths);
  const schemas = await contributedSchemas(bundledContributions());
  const load = () => loadConfig({ path: paths.configPath, env: {}, ...schemas });
  const log = openLog({ file: join(dir, "test.log"), level: "silent", consoleLevel: "silent", consoleStyle: "json" });
  const gateway = await startGateway(new Live(paths, dir, await load()), { log, load });
  const journal = new DatabaseSync(join(dir, "state", "journal.sqlite"), { readOnly: true });
  const count = (where: string): number => Number(journal.prepare(`SELECT count(*) AS n FROM ${where}`).get()?.["n"]);
  try {
    for (const [at, [text, by]] of says.entries()) {
      telegram.say(text, by);
      await expect.poll(() => count("inbox WHERE state = 'done'"), { interval: 20 }).toBeGreaterThan(at);
    }
    await expect.poll(() => count("outbox WHERE state NOT IN ('sent', 'failed')"), { interval: 20 }).toBe(0);
    return { asked: [...model.calls], sent: [...telegram.sent] };
  } finally {
    journal.close();
    await gateway.close(0);
    await Promise.all([telegram.close(), model.close()]);
    rmSync(dir, { recursive: true, force: true });
  }
}

const ANN: Speaker = { from: { id: 42 } };
const BEN: Speaker = { from: { id: 77 } };
const GROUP: Speaker = { from: { id: 42 }, chat: { id: -5, type: "supergroup", title: "Five" } };

const HELLO: Talk = { says: [["hello", ANN]] };
const LONG: Talk = { says: [["hello", ANN]], answer: () => ({ text: "many words ".repeat(60) }) };
const TWO: Talk = {
  says: [
    ["first of ann", ANN],
    ["first of ben", BEN],
  ],
};
const THREE: Talk = {
  says: [
    ["apricots", ANN],
    ["begin anew", ANN],
    ["cherries", ANN],
  ],
};
const LINK: Talk = { says: [["hello", ANN]], answer: () => ({ text: "See https://example.org/page for more." }) };
const PARAGRAPHS: Talk = { says: [["hello", ANN]], answer: () => ({ text: "The first part.\n\nThe second part." }) };
const BOTH_IN_GROUP: Talk = {
  says: [
    ["hello from ann @fake_bot", GROUP],
    ["hello from ben @fake_bot", { ...GROUP, ...BEN }],
  ],
};
const READS_OUTSIDE: Talk = {
  says: [["hello", ANN]],
  answer: ({ isAfterTool }) =>
    isAfterTool ? { text: "fine" } : { tool: "read", args: { path: import.meta.filename } },
};
const LISTS_AGENTS: Talk = {
  says: [["hello", ANN]],
  answer: ({ isAfterTool }) => (isAfterTool ? { text: "fine" } : { tool: "agents_list", args: {} }),
};
const RESTART: Talk = { says: [["/restart", ANN]] };
const STATUS: Talk = { says: [["/status", ANN]] };
const IN_GROUP: Talk = { says: [["hello all", GROUP]] };
const FAILS: Talk = {
  says: [["hello", ANN]],
  answer: ({ model }) => (model === "fake-1" ? { status: 401, message: "no such key" } : { text: "fine" }),
};

const defaults = (more: Json): Json => ({ agents: { defaults: more } });
const telegram = (more: Json): Json => ({ channels: { telegram: more } });
const last = ({ asked }: Seen) => asked.at(-1);
const whole = (call: ModelCall | undefined): string => JSON.stringify(call?.messages ?? []);
const messages = ({ sent }: Seen) => sent.filter(({ method }) => method === "sendMessage");
const hasTool = (name: string) => (seen: Seen) =>
  last(seen)?.tools.some((tool) => tool.function.name === name) === true;
const fake = (more: Json): Json => ({
  models: { providers: { fake: { models: [{ id: "fake-1", contextWindow: 100_000, ...more }] } } },
});

/** A key, and what a platform and a model see of it. */
export const ROWS: readonly Row[] = [
  {
    key: "agents.defaults.systemPromptOverride",
    config: defaults({ systemPromptOverride: "Speak Latin." }),
    talk: HELLO,
    shows: (seen) => last(seen)?.system.includes("Speak Latin.") === true,
  },
  {
    key: "agents.defaults.userTimezone",
    config: defaults({ userTimezone: "Asia/Tokyo" }),
    talk: HELLO,
    shows: (seen) => whole(last(seen)).includes("Asia/Tokyo"),
  },
  {
    key: "agents.defaults.model.primary",
    config: defaults({ model: { primary: "fake/fake-2" } }),
    talk: HELLO,
    shows: (seen) => last(seen)?.model === "fake-2",
  },
  {
    key: "agents.defaults.model.fallbacks",
    config: defaults({ model: { fallbacks: ["fake/fake-2"] } }),
    talk: FAILS,
    shows: (seen) => seen.asked.some(({ model }) => model === "fake-2"),
  },
  {
    key: "agents.defaults.thinkingDefault",
    config: defaults({ thinkingDefault: "high" }),
    talk: HELLO,
    shows: (seen) => last(seen)?.effort === "high",
  },
  {
    key: "agents.defaults.verboseDefault",
    config: defaults({ verboseDefault: "on" }),
    talk: READS_OUTSIDE,
    shows: (seen) => messages(seen).some(({ text }) => text.includes("🛠️ read")),
  },
  {
    key: "agents.list.verboseDefault",
    config: { agents: { defaults: { verboseDefault: "off" }, list: [{ id: "main", verboseDefault: "full" }] } },
    talk: READS_OUTSIDE,
    shows: (seen) => messages(seen).some(({ text }) => text.includes("🛠️ read")),
  },
  {
    key: "agents.list.systemPromptOverride",
    config: { agents: { list: [{ id: "main", systemPromptOverride: "Speak Greek." }] } },
    talk: HELLO,
    shows: (seen) => last(seen)?.system.includes("Speak Greek.") === true,
  },
  {
    key: "agents.list.model.primary",
    config: { agents: { list: [{ id: "main", model: { primary: "fake/fake-2" } }] } },
    talk: HELLO,
    shows: (seen) => last(seen)?.model === "fake-2",
  },
  {
    key: "agents.defaults.subagents.allowAgents",
    config: {
      agents: { defaults: { subagents: { allowAgents: ["other"] } }, list: [{ id: "main" }, { id: "other" }] },
    },
    talk: LISTS_AGENTS,
    shows: (seen) => last(seen)?.toolText.includes("- other") === true,
  },
  {
    key: "models.providers.models.maxTokens",
    config: fake({ maxTokens: 1234 }),
    talk: HELLO,
    shows: (seen) => last(seen)?.maxTokens === 1234,
  },
  {
    key: "messages.responsePrefix",
    config: { messages: { responsePrefix: "[bot]" } },
    talk: HELLO,
    shows: (seen) => messages(seen).at(-1)?.text === "[bot] fine",
  },
  {
    key: "channels.responsePrefix",
    config: telegram({ responsePrefix: "[tg]" }),
    talk: HELLO,
    shows: (seen) => messages(seen).at(-1)?.text === "[tg] fine",
  },
  {
    key: "messages.ackReaction",
    config: { messages: { ackReaction: "👀", ackReactionScope: "all" } },
    talk: HELLO,
    shows: ({ sent }) => sent.some(({ method }) => method === "setMessageReaction"),
  },
  {
    key: "commands.text",
    config: { commands: { text: false } },
    talk: STATUS,
    shows: (seen) => last(seen)?.said.includes("/status") === true,
  },
  {
    key: "commands.restart",
    config: { commands: { restart: false, ownerAllowFrom: [42] } },
    talk: RESTART,
    shows: (seen) => messages(seen).some(({ text }) => /commands\.restart.* is off/.test(text)),
  },
  {
    key: "session.resetTriggers",
    config: { session: { resetTriggers: ["begin anew"] } },
    talk: THREE,
    shows: (seen) => !whole(last(seen)).includes("apricots"),
  },
  {
    key: "session.dmScope",
    config: { session: { dmScope: "main" } },
    talk: TWO,
    shows: (seen) => whole(last(seen)).includes("first of ann"),
  },
  {
    key: "session.dmHistoryLimit",
    config: { session: { dmHistoryLimit: 1 } },
    talk: THREE,
    shows: (seen) => !whole(last(seen)).includes("apricots"),
  },
  {
    key: "channels.dmHistoryLimit",
    config: telegram({ dmHistoryLimit: 1 }),
    talk: THREE,
    shows: (seen) => !whole(last(seen)).includes("apricots"),
  },
  {
    key: "channels.dmPolicy",
    config: telegram({ dmPolicy: "pairing", allowFrom: [] }),
    talk: HELLO,
    shows: (seen) => seen.asked.length === 0 && messages(seen).some(({ text }) => text.includes("pairing approve")),
  },
  {
    key: "channels.allowFrom",
    config: telegram({ dmPolicy: "allowlist", allowFrom: [77] }),
    talk: TWO,
    shows: (seen) => seen.asked.length === 1 && last(seen)?.said.includes("first of ben") === true,
  },
  {
    key: "channels.groups.requireMention",
    config: telegram({ groupPolicy: "open", groups: { "*": { requireMention: false } } }),
    talk: IN_GROUP,
    shows: (seen) => last(seen)?.said.includes("hello all") === true,
  },
  {
    key: "channels.textChunkLimit",
    config: telegram({ textChunkLimit: 200 }),
    talk: LONG,
    shows: (seen) => messages(seen).length > 2 && messages(seen).every(({ text }) => text.length <= 200),
  },
  {
    key: "channels.replyToMode",
    config: telegram({ replyToMode: "all" }),
    talk: HELLO,
    shows: (seen) => messages(seen).at(-1)?.body["reply_parameters"] !== undefined,
  },
  {
    key: "channels.telegram.linkPreview",
    config: telegram({ linkPreview: true }),
    talk: LINK,
    shows: (seen) => messages(seen).at(-1)?.body["link_preview_options"] === undefined,
  },
  {
    key: "tools.deny",
    config: { tools: { deny: ["read"] } },
    talk: HELLO,
    shows: (seen) => !hasTool("read")(seen) && hasTool("write")(seen),
  },
  {
    key: "tools.allow",
    config: { tools: { allow: ["read"] } },
    talk: HELLO,
    shows: (seen) => hasTool("read")(seen) && !hasTool("write")(seen),
  },
  {
    key: "tools.profile",
    config: { tools: { profile: "minimal" } },
    talk: HELLO,
    shows: (seen) => !hasTool("read")(seen) && !hasTool("write")(seen),
  },
  {
    key: "agents.defaults.skipBootstrap",
    config: defaults({ skipBootstrap: true }),
    talk: HELLO,
    shows: (seen) => last(seen)?.system.includes("# Project Context") === false,
  },
  {
    key: "channels.groupAllowFrom",
    config: telegram({ groupPolicy: "allowlist", groupAllowFrom: [77], groups: { "*": { requireMention: false } } }),
    talk: BOTH_IN_GROUP,
    shows: (seen) => seen.asked.length === 1 && last(seen)?.said.includes("hello from ben") === true,
  },
  {
    key: "channels.groups.systemPrompt",
    config: telegram({
      groupPolicy: "open",
      groups: { "*": { requireMention: false, systemPrompt: "Speak of boats." } },
    }),
    talk: IN_GROUP,
    shows: (seen) => whole(last(seen)).includes("Speak of boats."),
  },
  {
    key: "messages.groupChat.mentionPatterns",
    config: { messages: { groupChat: { mentionPatterns: ["hello"] } }, ...telegram({ groupPolicy: "open" }) },
    talk: IN_GROUP,
    shows: (seen) => last(seen)?.said.includes("hello all") === true,
  },
  {
    key: "session.identityLinks",
    config: { session: { dmScope: "per-peer", identityLinks: { ann: ["telegram:42", "telegram:77"] } } },
    talk: TWO,
    shows: (seen) => whole(last(seen)).includes("first of ann"),
  },
  {
    key: "session.sendPolicy.default",
    config: { session: { sendPolicy: { default: "deny" } } },
    talk: HELLO,
    shows: (seen) => messages(seen).length === 0,
  },
  {
    key: "commands.allowFrom",
    config: { commands: { allowFrom: { telegram: [77] } } },
    talk: STATUS,
    shows: (seen) => !messages(seen).some(({ text }) => text.includes("fake-1")),
  },
  {
    key: "channels.chunkMode",
    config: telegram({ chunkMode: "newline" }),
    talk: PARAGRAPHS,
    shows: (seen) => messages(seen).length === 2,
  },
  {
    key: "tools.fs.workspaceOnly",
    config: { tools: { fs: { workspaceOnly: false } } },
    talk: READS_OUTSIDE,
    shows: (seen) => last(seen)?.toolText.includes("workspaceOnly") === true,
  },
];
