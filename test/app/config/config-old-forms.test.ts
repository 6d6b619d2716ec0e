import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkConfig } from "../../../src/app/config/check.ts";
import { withPresentForms } from "../../../src/app/config/old-forms.ts";
import { ConfigError } from "../../../src/app/config/schema/problem.ts";
import { configCheck } from "../../../src/app/doctor/config-check.ts";
import { bundledContributions, contributedSchemas } from "../../../src/app/contributions/extensions.ts";
import { loadConfigText } from "../../kit/config-text.ts";

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "old-forms-"));
  path = join(dir, "openclaw.json");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const options = async () => ({ path, env: {}, ...(await contributedSchemas(bundledContributions())) });

/** What a config of another version says, and the same as it is written here. */
const FORMS: readonly (readonly [string, object, object])[] = [
  ["a channel at the top", { telegram: { allowFrom: ["1"] } }, { channels: { telegram: { allowFrom: ["1"] } } }],
  ["the only agent", { agent: { workspace: "/w" } }, { agents: { defaults: { workspace: "/w" } } }],
  [
    "the only agent beside the defaults, which count",
    { agent: { workspace: "/w", maxConcurrent: 2 }, agents: { defaults: { workspace: "/x" } } },
    { agents: { defaults: { workspace: "/x", maxConcurrent: 2 } } },
  ],
  [
    "its name",
    { identity: { name: "Sam" } },
    { agents: { list: [{ id: "main", default: true, identity: { name: "Sam" } }] } },
  ],
  ["the model", { defaultModel: "a/b" }, { agents: { defaults: { model: "a/b" } } }],
  ["the heartbeat", { heartbeat: { every: "5m" } }, { agents: { defaults: { heartbeat: { every: "5m" } } } }],
  [
    "the search in notes",
    { memory: { search: { enabled: false } } },
    { memory: {}, agents: { defaults: { memorySearch: { enabled: false } } } },
  ],
  [
    "the routing",
    {
      routing: { allowFrom: ["+1"], queue: { mode: "collect" }, groupChat: { requireMention: false, historyLimit: 3 } },
      channels: { telegram: { enabled: true }, discord: { enabled: true } },
    },
    {
      messages: { queue: { mode: "collect" }, groupChat: { historyLimit: 3 } },
      channels: {
        telegram: { enabled: true, requireMention: false },
        whatsapp: { allowFrom: ["+1"], requireMention: false },
        discord: { enabled: true, requireMention: false },
      },
    },
  ],
  ["the token", { gateway: { token: "t", port: 1 } }, { gateway: { port: 1, auth: { token: "t" } } }],
  ["a variable", { env: { MY_KEY: "x", vars: { B: "y" } } }, { env: { vars: { B: "y", MY_KEY: "x" } } }],
  [
    "streaming as a text",
    { channels: { discord: { streaming: "off" } } },
    { channels: { discord: { streaming: { mode: "off" } } } },
  ],
  [
    "streaming as a switch",
    { channels: { slack: { streaming: true } } },
    { channels: { slack: { streaming: { mode: "partial" } } } },
  ],
  [
    "streaming of an account",
    { channels: { telegram: { accounts: { a: { streamMode: "block" } } } } },
    { channels: { telegram: { accounts: { a: { streaming: { mode: "block" } } } } } },
  ],
  [
    "the API of a provider",
    { models: { providers: { a: { api: "openai" } } } },
    { models: { providers: { a: { api: "openai-completions" } } } },
  ],
  [
    "a server that is off",
    { mcp: { servers: { a: { disabled: true } } } },
    { mcp: { servers: { a: { enabled: false } } } },
  ],
  [
    "the agent of the system",
    { agents: { defaults: { systemAgent: { agentId: "a" } } } },
    { agents: { defaults: { agentId: "a" } } },
  ],
  [
    "the scope of the sandbox",
    { agents: { defaults: { sandbox: { perSession: true } } } },
    { agents: { defaults: { sandbox: { scope: "session" } } } },
  ],
  [
    "the tools, commands and interval of the only agent",
    {
      agent: {
        tools: { deny: ["nodes"] },
        elevated: { enabled: false },
        bash: { timeoutSec: 9 },
        heartbeatMinutes: 20,
        sandbox: { mode: "all", tools: { allow: ["read"] } },
      },
    },
    {
      agents: { defaults: { sandbox: { mode: "all" }, heartbeat: { every: "20m" } } },
      tools: {
        deny: ["nodes"],
        elevated: { enabled: false },
        exec: { timeoutSec: 9 },
        sandbox: { tools: { allow: ["read"] } },
      },
    },
  ],
  [
    "its models",
    {
      agent: {
        model: "anthropic/one",
        modelFallbacks: ["openai/two"],
        allowedModels: ["anthropic/one"],
        modelAliases: { Big: "anthropic/one" },
      },
    },
    {
      agents: {
        defaults: {
          model: { primary: "anthropic/one", fallbacks: ["openai/two"] },
          models: { "anthropic/one": { alias: "Big" } },
        },
      },
    },
  ],
  [
    "several agents of the routing",
    {
      routing: {
        defaultAgentId: "work",
        agents: { work: { workspace: "/w", mentionPatterns: ["@w"], sandbox: { tools: { deny: ["exec"] } } } },
        agentToAgent: { enabled: true },
        transcribeAudio: { command: ["whisper"] },
        queue: { byProvider: { telegram: "steer" } },
        bindings: [{ agentId: "work", match: { provider: "slack" } }],
      },
    },
    {
      agents: {
        entries: {
          work: {
            workspace: "/w",
            sandbox: {},
            groupChat: { mentionPatterns: ["@w"] },
            tools: { sandbox: { tools: { deny: ["exec"] } } },
          },
        },
        defaults: { agentId: "work" },
      },
      tools: { agentToAgent: { enabled: true } },
      audio: { transcription: { command: ["whisper"] } },
      messages: { queue: { byChannel: { telegram: "steer" } } },
      bindings: [{ agentId: "work", match: { channel: "slack" } }],
    },
  ],
  ["a channel without an adapter", { imessage: { enabled: false } }, { channels: { imessage: { enabled: false } } }],
  [
    "how long files are kept",
    { media: { ttlHours: 25, preserveFilenames: true } },
    { media: { preserveFilenames: true }, retention: { mediaDays: 2 } },
  ],
  ["how long attachments are kept", { attachments: { ttlHours: 6 } }, { retention: { mediaDays: 1 } }],
  [
    "a model by its short name, by its only provider, and by its maker",
    {
      agents: {
        defaults: {
          model: { primary: "fast", fallbacks: ["mine", "claude-x"] },
          models: { "openai/quick": { alias: "fast" } },
        },
      },
      models: { providers: { local: { baseUrl: "http://127.0.0.1:1", models: [{ id: "mine" }] } } },
    },
    {
      agents: {
        defaults: {
          model: { primary: "openai/quick", fallbacks: ["local/mine", "anthropic/claude-x"] },
          models: { "openai/quick": { alias: "fast" } },
        },
      },
      models: { providers: { local: { baseUrl: "http://127.0.0.1:1", models: [{ id: "mine" }] } } },
    },
  ],
  [
    "a level above all",
    { agents: { list: [{ id: "a", thinkingDefault: "ultra" }] } },
    { agents: { list: [{ id: "a", thinkingDefault: "max" }] } },
  ],
  [
    "a number above the most",
    {
      tools: { web: { search: { maxResults: 25 } } },
      agents: { entries: { a: { memorySearch: { query: { maxResults: 99 } } } } },
    },
    {
      tools: { web: { search: { maxResults: 10 } } },
      agents: { entries: { a: { memorySearch: { query: { maxResults: 20 } } } } },
    },
  ],
  [
    "agents of a chat with more than their names",
    { broadcast: { "telegram:-1": { agents: ["a"], maxRounds: 2 } } },
    { broadcast: { "telegram:-1": ["a"] } },
  ],
  [
    "buttons as a list",
    { channels: { telegram: { capabilities: ["inlineButtons"], accounts: { a: { capabilities: [] } } } } },
    {
      channels: {
        telegram: {
          capabilities: { inlineButtons: "all" },
          accounts: { a: { capabilities: { inlineButtons: "off" } } },
        },
      },
    },
  ],
  [
    "how Signal is reached",
    { channels: { signal: { transport: { kind: "external-native", url: "http://127.0.0.1:8080" } } } },
    { channels: { signal: { autoStart: false, httpUrl: "http://127.0.0.1:8080" } } },
  ],
  [
    "folders of notes",
    { agents: { defaults: { memorySearch: { extraPaths: [{ path: "~/a", pattern: "**/*.md" }, "~/b"] } } } },
    { agents: { defaults: { memorySearch: { extraPaths: ["~/a", "~/b"] } } } },
  ],
  [
    "speech of the system",
    { messages: { tts: { edge: { voice: "v" } } } },
    { messages: { tts: { providers: { microsoft: { voice: "v" } } } } },
  ],
  ["a workspace that is not said", { agents: { defaults: { workspace: null } } }, { agents: { defaults: {} } }],
  [
    "speech",
    { tts: { auto: "inbound", elevenlabs: { voiceId: "v", modelId: "m" } } },
    { messages: { tts: { auto: "inbound", providers: { elevenlabs: { voice: "v", model: "m" } } } } },
  ],
];

describe("a config in the forms of another version", () => {
  it.each(FORMS)("is read as it is written here: %s", (_what, old, now) => {
    const before = structuredClone(old);
    const { value, warnings } = withPresentForms(old);
    expect(value).toEqual(now);
    expect(warnings.length).toBeGreaterThan(0);
    expect(old).toEqual(before);
    expect(withPresentForms(value)).toMatchObject({ warnings: [], edits: [] });
  });

  it.each(FORMS)("is no form of this version, which would mean something else: %s", async (_what, old) => {
    const { channelSchemas } = await contributedSchemas(bundledContributions());
    const { problems, warnings } = checkConfig(old, {
      channelSchemas: await channelSchemas(["telegram", "discord", "slack", "whatsapp"]),
    });
    expect([...problems, ...warnings]).not.toEqual([]);
  });

  it("says for each key how it is read", async () => {
    const text = '{\n  agent: { workspace: "/w" },\n  channels: { telegram: { streaming: "partial" } },\n}\n';
    const { warnings } = await loadConfigText(text, await options());
    expect(warnings.map((warning) => warning.text)).toEqual([
      "openclaw.json:2: agent: is read as agents.defaults; openclaw doctor --fix writes it so",
      "openclaw.json:3: channels.telegram.streaming: is read in its present form; openclaw doctor --fix writes it so",
    ]);
  });

  it("has its mistakes named by the keys and lines of the file", async () => {
    const text = [
      "{",
      "  agent: {",
      "    workspace: 5,",
      "    tols: {},",
      "    bash: {",
      "      backgroundMs: 1,",
      "    },",
      "  },",
      "  routing: { bindings: [{ agentId: 'main', match: {",
      "    provider: 7 } }] },",
      "}",
    ].join("\n");
    const told = await loadConfigText(text, await options()).catch((error: unknown) =>
      error instanceof ConfigError ? error.problems.map((problem) => problem.text) : error,
    );
    expect(told).toEqual([
      "openclaw.json:3: agent.workspace: must be text, but is a number",
      expect.stringMatching(/^openclaw\.json:4: agent\.tols: unknown key/),
      "openclaw.json:6: agent.bash.backgroundMs: must be at least 10",
      "openclaw.json:10: routing.bindings[0].match.provider: must be text, but is a number",
    ]);
  });

  it("is rewritten by the doctor, and comments, order and the other keys stay", async () => {
    writeFileSync(
      path,
      [
        "// my gateway",
        "{",
        "  gateway: { port: 18788 }, // not the usual one",
        '  agent: { workspace: "/w" },',
        '  channels: { telegram: { enabled: false, streaming: "off", allowFrom: ["1"] } },',
        "}",
        "",
      ].join("\n"),
    );
    const before = await loadConfigText(readFileSync(path, "utf8"), await options());
    const results = await configCheck(await options(), { stateSub: dir }).run(new AbortController().signal);
    const repair = results.find((result) => result.repair)?.repair;
    expect(repair?.describe).toContain("agent, channels.telegram.streaming");
    await repair?.apply();
    const text = readFileSync(path, "utf8");
    expect(text).toContain("// my gateway\n{\n  gateway: { port: 18788 }, // not the usual one\n");
    const after = await loadConfigText(text, await options());
    expect(after.config).toEqual(before.config);
    expect(after.warnings).toEqual([]);
    const again = await configCheck(await options(), { stateSub: dir }).run(new AbortController().signal);
    expect(again.some((result) => result.repair)).toBe(false);
  });

  it("is rewritten in each of its files, except where files are put together", async () => {
    const providers = join(dir, "models.json5");
    const listed = join(dir, "mcp.json5");
    writeFileSync(
      path,
      '{ agent: { workspace: "/w" }, models: { $include: "./models.json5" }, mcp: { $include: ["./mcp.json5"] } }',
    );
    writeFileSync(
      providers,
      '{ providers: { a: { baseUrl: "http://127.0.0.1:1", api: "openai", models: [] } } } // mine',
    );
    writeFileSync(listed, '{ servers: { a: { command: "x", disabled: true } } }');
    const results = await configCheck(await options(), { stateSub: dir }).run(new AbortController().signal);
    const repair = results.find((result) => result.repair)?.repair;
    await expect(repair?.apply()).rejects.toThrow("mcp.servers.a.disabled could not be rewritten");
    expect(readFileSync(path, "utf8")).toMatch(/agents: \{\s+"defaults"/);
    expect(readFileSync(providers, "utf8")).toContain('api: "openai-completions", models: [] } } } // mine');
    expect(readFileSync(listed, "utf8")).toContain("disabled: true");
  });

  it("is rewritten where it also has a mistake, which stays for a person", async () => {
    writeFileSync(path, '{ agent: { workspace: "/w" }, gateway: { prt: 1 } }');
    const results = await configCheck(await options(), { stateSub: dir }).run(new AbortController().signal);
    expect(results[0]).toMatchObject({ status: "fail" });
    await results.find((result) => result.repair)?.repair?.apply();
    expect(readFileSync(path, "utf8")).toContain("agents");
    expect(readFileSync(path, "utf8")).toContain("prt: 1");
  });
});

describe("a channel that is not installed", () => {
  it("may have any form, and is named", async () => {
    const { warnings } = await loadConfigText(
      '{ channels: { irc: { channels: ["#a"], streaming: 5 } } }',
      await options(),
    );
    expect(warnings.map((warning) => warning.message)).toEqual([
      "no channel of this name is installed; it has no effect",
    ]);
  });

  it("needs no variable, nor does a plugin that is not installed; a channel that is here does", async () => {
    const { warnings } = await loadConfigText(
      '{ channels: { matrix: { accessToken: "${NO}" } }, plugins: { entries: { other: { config: { key: "${NO}" } } } } }',
      await options(),
    );
    expect(warnings.map(({ key }) => key)).toContain("channels.matrix.accessToken");
    const here = loadConfigText('{ channels: { telegram: { botToken: "${NO}" } } }', await options());
    await expect(here).rejects.toMatchObject({
      code: "SECRET_MISSING",
      fix: expect.stringContaining("Set the variable"),
    });
  });
});
