import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import pino from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { bindingFor } from "../../../src/channels/routing/bindings.ts";
import { execChoice } from "../../../src/tools/exec-mode.ts";
import { loadConfig, type LoadedConfig } from "../../../src/app/config/load.ts";
import { ConfigError } from "../../../src/app/config/schema/problem.ts";
import type { ChannelSchemas } from "../../../src/app/config/check.ts";
import { accountId, channelId } from "../../../src/types/ids.ts";
import { EarlierPlaces } from "../../../src/store/places.ts";
import { Secret } from "../../../src/types/secret.ts";
import { secretField } from "../../../src/utils/config.ts";

let dir = "";
let path = "";
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "config-"));
  path = join(dir, "openclaw.json");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function load(
  text: unknown,
  more: { env?: Record<string, string>; channelSchemas?: ChannelSchemas } = {},
): Promise<LoadedConfig> {
  writeFileSync(path, typeof text === "string" ? text : JSON.stringify(text, null, 2));
  return loadConfig({ path, env: {}, ...more });
}

async function refusal(text: unknown, more: Parameters<typeof load>[1] = {}): Promise<ConfigError> {
  const error: unknown = await load(text, more).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConfigError)) throw new Error("expected a ConfigError");
  return error;
}
const texts = (notes: readonly { text: string }[]) => notes.map((note) => note.text);

/** As users of the field write it. */
const FIELD = {
  gateway: { mode: "local", port: 4711, bind: "loopback", auth: { mode: "token", token: "bench-token" } },
  models: {
    mode: "merge",
    providers: {
      fake: {
        baseUrl: "http://127.0.0.1:1/v1",
        apiKey: "sk-plain-key",
        api: "openai-completions",
        models: [
          {
            id: "fake-1",
            name: "Fake",
            reasoning: false,
            input: ["text"],
            cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
            contextWindow: 200000,
            maxTokens: 8192,
          },
        ],
      },
    },
  },
  agents: { defaults: { model: { primary: "fake/fake-1" }, heartbeat: { every: "0m" } } },
  session: { dmScope: "per-channel-peer" },
  channels: {
    telegram: {
      enabled: true,
      botToken: "777000111:AAbench",
      dmPolicy: "open",
      allowFrom: ["*"],
      apiRoot: "http://127.0.0.1:2",
    },
  },
  update: { checkOnStart: false },
};

const TELEGRAM = z.strictObject({ botToken: secretField, apiRoot: z.string().default("https://api.telegram.org") });

describe("a config of the field", () => {
  it("loads, and keys without effect are named with their line", async () => {
    const { config, warnings } = await load(FIELD, { channelSchemas: { telegram: TELEGRAM } });
    expect(config.gateway.port).toBe(4711);
    expect(config.models.providers["fake"]?.models?.[0]?.contextWindow).toBe(200000);
    expect(texts(warnings)).toEqual(["openclaw.json:63: update: is known, but has no effect here yet"]);
  });

  it("never prints a secret", async () => {
    const { config } = await load({
      ...FIELD,
      gateway: { auth: { token: "tok-hidden" } },
      env: { vars: { A_KEY: "env-hidden" } },
      skills: { entries: { x: { apiKey: "skill-hidden" } } },
      plugins: { entries: { p: { config: { apiKey: "plugin-hidden" } } } },
    });
    let logged = "";
    pino({}, { write: (line: string) => void (logged += line) }).info({ config });
    const printed = [
      JSON.stringify(config),
      inspect(config, { depth: null }),
      logged,
      String(config.gateway.auth.token),
    ].join("\n");
    expect(printed).not.toMatch(/hidden|sk-plain-key|AAbench/);
    expect(config.gateway.auth.token?.reveal()).toBe("tok-hidden");
    expect(JSON.stringify([config.gateway.auth.token, config.gateway.port])).toBe('["[secret]",18789]');
    expect(config.channels["telegram"]?.["botToken"]).toBeInstanceOf(Secret);
  });

  it("is all defaults without a file", async () => {
    const loaded = await loadConfig({ path, env: {} });
    expect(loaded).toMatchObject({ exists: false, warnings: [] });
    expect(loaded.config.gateway).toMatchObject({ port: 18789, bind: "loopback" });
    expect(execChoice(loaded.config.tools.exec)).toEqual({ security: "allowlist", ask: "on-miss" });
    expect(loaded.config.session.dmScope).toBe("per-channel-peer");
    expect(loaded.config.messages.queue).toMatchObject({
      mode: "collect",
      debounceMs: 500,
      cap: 20,
      drop: "summarize",
    });
  });
});

describe("a mistake", () => {
  it("in a key is reported with line and nearest name", async () => {
    const error = await refusal(
      '{\n  // here\n  gatway: { port: 1 },\n  gateway: {\n    prt: 1,\n  },\n  dmScope: "main",\n}',
    );
    expect(error.code).toBe("CONFIG_INVALID");
    expect(error.message).toBe("openclaw.json:3: gatway: unknown key; did you mean gateway? (and 2 more)");
    expect(texts(error.problems)).toEqual([
      "openclaw.json:3: gatway: unknown key; did you mean gateway?",
      "openclaw.json:5: gateway.prt: unknown key; did you mean gateway.port?",
      "openclaw.json:7: dmScope: unknown key; did you mean session.dmScope?",
    ]);
    expect(error.fix).toContain("openclaw config validate");
  });

  it("inside a known section without effect is reported too", async () => {
    const error = await refusal("{ update: { chekOnStart: true } }");
    expect(texts(error.problems)).toEqual([
      "openclaw.json:1: update.chekOnStart: unknown key; did you mean update.checkOnStart?",
    ]);
  });

  it("in a value is reported with what would fit, never with the value", async () => {
    const error = await refusal(
      '{\n gateway: { port: "sk-1", bind: "world" },\n agents: { list: [{ name: 1 }], defaults: { model: "nonsense" } },\n session: [],\n channels: { telegram: { accounts: { a: { dmPolicy: "x" } } } } }',
    );
    expect(texts(error.problems)).toEqual([
      "openclaw.json:2: gateway.port: must be a number, but is text",
      'openclaw.json:2: gateway.bind: must be one of: "loopback", "lan", "auto", "custom", "tailnet"',
      "openclaw.json:3: agents.defaults.model: write it as provider/model",
      "openclaw.json:3: agents.list[0].id: is missing; text is needed",
      "openclaw.json:3: agents.list[0].name: must be text, but is a number",
      "openclaw.json:4: session: must be an object, but is a list",
      'openclaw.json:5: channels.telegram.accounts.a.dmPolicy: must be one of: "pairing", "allowlist", "open", "disabled"',
    ]);
    expect(inspect(error)).not.toContain("sk-1");
  });

  it("inside one of several forms is reported for the form that was meant", async () => {
    const error = await refusal('{ agents: { defaults: { model: { primary: "a/b", fallbacks: "c/d" } } } }');
    expect(texts(error.problems)).toEqual([
      "openclaw.json:1: agents.defaults.model: fallbacks: must be a list, but is text",
    ]);
  });

  it("is none in a pattern that only the stricter grammar refuses", async () => {
    const mentionPatterns = ["\\@clawd", "[\\w-.]+bot", "\\p{Lu}law"];
    const { config } = await load({ messages: { groupChat: { mentionPatterns } } });
    expect(config.messages.groupChat.mentionPatterns).toEqual(mentionPatterns);
  });

  it("that would show only when the value is used is reported at once", async () => {
    const error = await refusal({
      gateway: { bind: "custom" },
      agents: { defaults: { userTimezone: "Mars/Base" } },
      messages: { groupChat: { mentionPatterns: ["("] } },
    });
    expect(error.problems.map(({ key, message }) => `${key}: ${message}`)).toEqual([
      'gateway.customBindHost: is missing; bind "custom" needs it',
      "agents.defaults.userTimezone: is no time zone; write it as Europe/Vienna",
      "messages.groupChat.mentionPatterns[0]: is no regular expression",
    ]);
  });

  it("in the syntax is reported with line and column", async () => {
    const error = await refusal("{\n  gateway: {\n    port: 1\n    bind: 2\n  }\n}");
    expect(error.code).toBe("CONFIG_SYNTAX");
    expect(error.message).toBe("openclaw.json:4:5: not valid JSON5: invalid character 'b'");
    expect((await refusal("")).code).toBe("CONFIG_SYNTAX");
  });

  it.skipIf(process.getuid?.() === 0)("in the file's permissions is reported", async () => {
    writeFileSync(path, "{}");
    chmodSync(path, 0o000);
    await expect(loadConfig({ path, env: {} })).rejects.toMatchObject({ code: "CONFIG_UNREADABLE" });
  });
});

describe("bindings", () => {
  it.each<[channel: string, match: object, key: string | undefined]>([
    ["telegram", { peer: { kind: "group", id: "-1002" } }, undefined],
    ["telegram", { peer: { kind: "group", id: "telegram:-1002:topic:7" } }, undefined],
    ["telegram", { peer: { kind: "group", id: 77 } }, undefined],
    ["telegram", { peer: { kind: "group", id: "*" } }, undefined],
    ["telegram", { peer: { kind: "dm", id: "user:42" } }, undefined],
    ["telegram", { peer: { kind: "group", id: "1001234567890" } }, "peer.id"],
    ["telegram", { peer: { kind: "group", id: "@crew" } }, "peer.id"],
    ["telegram", { peer: { kind: "group", id: "slack:C1" } }, "peer.id"],
    ["telegram", { peer: { kind: "direct", id: "-1002" } }, "peer.id"],
    ["telegram", { peer: { kind: "direct", id: "@ada" } }, "peer.id"],
    ["telegram", { guildId: "900" }, "guildId"],
    ["telegram", { teamId: "T1" }, "teamId"],
    ["telegram", { roles: ["1"] }, "roles"],
    ["discord", { guildId: "900", roles: ["1"] }, undefined],
    ["discord", { guildId: "900", peer: { kind: "direct", id: "1" } }, "guildId"],
    ["discord", { peer: { kind: "channel", id: "#general" } }, "peer.id"],
    ["slack", { teamId: "T1", peer: { kind: "channel", id: "C024BE7LH" } }, undefined],
    ["slack", { peer: { kind: "channel", id: "#general" } }, "peer.id"],
    ["slack", { peer: { kind: "direct", id: "U024BE7LH" } }, undefined],
    ["whatsapp", { peer: { kind: "direct", id: "+4930123456" } }, undefined],
    ["whatsapp", { peer: { kind: "direct", id: "4930123456" } }, "peer.id"],
    ["whatsapp", { peer: { kind: "group", id: "120363012345678901@g.us" } }, undefined],
    ["whatsapp", { peer: { kind: "group", id: "120363012345678901" } }, "peer.id"],
    ["signal", { peer: { kind: "group", id: "bm90IGEgcmVhbCBncm91cA==" } }, undefined],
    ["signal", { peer: { kind: "direct", id: "Ada" } }, "peer.id"],
    ["of-a-plugin", { teamId: "x", peer: { kind: "group", id: "anything" } }, undefined],
  ])("a binding of %s for %j is doubted where no message can match it", async (channel, match, key) => {
    const { warnings } = await load({ bindings: [{ agentId: "main", match: { channel, ...match } }] });
    const doubted = warnings.filter(({ message }) => message.includes("no message matches"));
    expect(doubted.map((one) => one.key)).toEqual(key === undefined ? [] : [`bindings[0].match.${key}`]);
  });

  it("of a kind that has no effect are reported and left out", async () => {
    const match = { channel: "telegram", peer: { kind: "group", id: "-1" } };
    const acp = { type: "acp", agentId: "codex", match, acp: { mode: "persistent" } };
    const { config, warnings } = await load({ bindings: [acp, { agentId: "main", match }] });
    expect(warnings.map(({ key }) => key)).toEqual(["bindings[0].acp", "bindings[0].type"]);
    expect(warnings[1]?.message).toBe('"acp" has no effect here yet: the row is left out');
    const from = {
      channel: channelId("telegram"),
      account: accountId("default"),
      chat: { kind: "group", id: "-1" },
    } as const;
    expect(bindingFor(config.bindings, { from, sender: { id: "7" } }, "default")?.agentId).toBe("main");
  });
});

describe("channels", () => {
  it("are held against the adapter's schema, account by account", async () => {
    const text =
      '{ channels: { telegram: {\n apiRot: "x", webhookUrl: "y", zork: 1,\n accounts: { a: {}, b: { botToken: "1:b" } } } } }';
    const error = await refusal(text, { channelSchemas: { telegram: TELEGRAM } });
    expect(texts(error.problems)).toEqual(["openclaw.json:3: channels.telegram.accounts.a.botToken: is missing"]);
    const { warnings } = await load(text.replace("a: {}", 'a: { botToken: "1:a" }'), {
      channelSchemas: { telegram: TELEGRAM },
    });
    expect(texts(warnings)).toEqual([
      "openclaw.json:2: channels.telegram.apiRot: unknown to telegram; did you mean apiRoot?",
      "openclaw.json:2: channels.telegram.webhookUrl: is known, but has no effect here yet",
      "openclaw.json:2: channels.telegram.zork: unknown to telegram",
    ]);
  });

  it("whose adapter takes any key still report a mistyped one", async () => {
    const schema = z.looseObject({ botToken: secretField });
    const { warnings } = await load(
      { channels: { telegram: { botTokn: "y", botToken: "x", dmPolicy: "allowlist" } } },
      { channelSchemas: { telegram: schema } },
    );
    expect(texts(warnings)).toEqual([
      "openclaw.json:4: channels.telegram.botTokn: unknown to telegram; did you mean botToken?",
    ]);
  });

  it("whose direct chats admit nobody are reported with the place of that setting", async () => {
    const warningsOf = async (channel: object) =>
      texts((await load({ channels: { telegram: channel } })).warnings).map((text) => text.replace(/^\S+ /, ""));
    const why = '"open" lets in only whom allowFrom names; add "*" to allowFrom to hear everybody';
    expect(await warningsOf({ dmPolicy: "open", allowFrom: ["7"] })).toEqual([`channels.telegram.dmPolicy: ${why}`]);
    expect(await warningsOf({ dm: { policy: "open" } })).toEqual([`channels.telegram.dm.policy: ${why}`]);
    expect(await warningsOf({ dmPolicy: "open", accounts: { a: {}, b: { allowFrom: ["*"] } } })).toEqual([
      `channels.telegram.dmPolicy: ${why}`,
    ]);
    for (const allowFrom of [["*"], ["telegram:*"]])
      expect(await warningsOf({ dmPolicy: "open", allowFrom })).toEqual([]);
    expect(await warningsOf({ dmPolicy: "open", dm: { enabled: false } })).toEqual([]);
  });

  it("have keys without effect named wherever they lie", async () => {
    const group = { enabled: true, users: ["7"], skills: ["x"] };
    const { warnings } = await load({
      channels: {
        slack: {
          dm: { policy: "pairing", groupEnabled: true },
          groups: { "1": { agentId: "x", topics: { 2: { agentId: "x" } } } },
          channels: { C1: group },
          guilds: { G1: { slug: "x", channels: { C2: { ...group, includeThreadStarter: true } } } },
        },
      },
    });
    expect(warnings.map(({ key }) => key)).toEqual([
      "channels.slack.dm.groupEnabled",
      "channels.slack.groups.1.agentId",
      "channels.slack.guilds.G1.slug",
      "channels.slack.guilds.G1.channels.C2.includeThreadStarter",
    ]);
    const dm = z.looseObject({ dm: z.looseObject({ threadReplies: z.string() }) });
    const telegram = { channels: { telegram: { dm: { threadReplies: "off" } } } };
    expect((await load(telegram, { channelSchemas: { telegram: dm } })).warnings).toEqual([]);
  });

  it("have no warning for what names their accounts", async () => {
    const one = { botToken: "1:a" };
    const other = { botToken: "2:b", defaultAccount: "a" };
    const telegram = { defaultAccount: "b", accounts: { a: one, b: other } };
    const { warnings } = await load({ channels: { telegram } }, { channelSchemas: { telegram: TELEGRAM } });
    expect(warnings.map(({ key }) => key)).toEqual(["channels.telegram.accounts.b.defaultAccount"]);
  });

  it("that are not installed are one warning", async () => {
    const { warnings } = await load("{ channels: { zalo: { whatever: 1 } } }", { channelSchemas: {} });
    expect(texts(warnings)).toEqual([
      "openclaw.json:1: channels.zalo: no channel of this name is installed; it has no effect",
    ]);
  });

  it("that are switched off only warn", async () => {
    const text = '{ channels: { telegram: { enabled: false, botToken: "${NOPE}" } } }';
    const { warnings } = await load(text, { channelSchemas: { telegram: TELEGRAM } });
    expect(texts(warnings)).toEqual([
      "openclaw.json:1: channels.telegram.botToken: the environment variable NOPE is not set",
    ]);
  });
});

it("TLS that is asked for stops the gateway, for it would serve in the clear", async () => {
  const error = await refusal("{ gateway: {\n tls: { enabled: true } } }");
  expect(error).toMatchObject({ code: "CONFIG_INVALID", message: expect.stringContaining("gateway.tls.enabled") });
  expect(error.message).toContain("plain HTTP only");
  expect((await load({ gateway: { tls: { enabled: false } } })).config.gateway.port).toBeGreaterThan(0);
});

describe("secrets", () => {
  const token = async (value: unknown, env: Record<string, string> = {}) =>
    (await load({ gateway: { auth: { token: value } } }, { env })).config.gateway.auth.token?.reveal();

  it("come from variables, files and commands", async () => {
    writeFileSync(join(dir, "key"), "from-file\n");
    expect(await token("a-${X}-$${X}", { X: "1" })).toBe("a-1-${X}");
    expect(await token({ source: "env", provider: "default", id: "X" }, { X: "from-env" })).toBe("from-env");
    expect(await token({ source: "file", id: "~/key" }, { HOME: dir })).toBe("from-file");
    expect(await token({ source: "exec", id: [process.execPath, "-e", "console.log('from exec; $HOME')"] })).toBe(
      "from exec; $HOME",
    );
    expect(await token({ source: "exec", id: `"${process.execPath}" -p 'process.argv.length'` })).toBe("1");
  });

  it("come from env.vars where the environment is silent", async () => {
    const { config } = await load(
      { env: { vars: { A: "vars", B: "vars" } }, logging: { file: "${A}-${B}" } },
      { env: { B: "env" } },
    );
    expect(config.logging.file).toBe("vars-env");
  });

  it("of env.vars are masked elsewhere where their name or their looks are secret, and no others", async () => {
    const secret = { ENV_TOKEN: "monkey-brains", ANY_ENV_NAME: "a8Fj2kQ0zPl4Vx7TnW31" };
    const vars = {
      ...secret,
      TZ: "Europe/Vienna",
      ENV_FILE: "/srv/data/year2026/list",
      ENV_WORDS: "several plain words",
    };
    const { config } = await load({ env: { vars } });
    const shown = Object.values(vars).map((text) => Secret.mask(text));
    expect(shown).toEqual(["[secret]", "[secret]", "Europe/Vienna", "/srv/data/year2026/list", "several plain words"]);
    expect(JSON.stringify(config.env.vars)).not.toContain("Vienna");
  });

  it("leave the working folder of the shell visible, although its variable is named like a password", async () => {
    await load({}, { env: { PWD: "/srv/place-of-the-shell", DB_PWD: "word-of-the-database" } });
    expect(Secret.mask("/srv/place-of-the-shell and word-of-the-database")).toBe(
      "/srv/place-of-the-shell and [secret]",
    );
  });

  it("that are missing stop the load with the name of the key and the variable", async () => {
    const error = await refusal('{ gateway: { auth: {\n token: { source: "env", id: "GW_TOKEN" } } } }');
    expect(error.code).toBe("SECRET_MISSING");
    expect(error.message).toBe("openclaw.json:2: gateway.auth.token: the environment variable GW_TOKEN is not set");
  });

  it("that fail never show what a command said", async () => {
    const loud = [process.execPath, "-e", "console.log('s3cret'); process.exit(3)"];
    const error = await refusal({ gateway: { auth: { token: { source: "exec", id: loud } } } });
    expect(error.message).toContain("failed: exit code 3");
    expect(error.problems[0]?.text).not.toContain("s3cret");
    const big = [process.execPath, "-e", "console.log('x'.repeat(70000))"];
    expect((await refusal({ gateway: { auth: { token: { source: "exec", id: big } } } })).code).toBe("SECRET_MISSING");
    const vault = await refusal({ gateway: { auth: { token: { source: "exec", provider: "vault", id: "rm" } } } });
    expect(vault.message).toContain('secrets.providers has no provider "vault" with the source');
  });
});

describe("a config that came with its state directory from elsewhere", () => {
  it("means the files of the present directory, and says so", async () => {
    const agents = {
      list: [
        { id: "owl", workspace: "/old/state/workspace-owl" },
        { id: "fox", workspace: "/old/x" },
      ],
    };
    const mcp = { servers: { notes: { command: "notes", args: ["--root=/old/state/notes"] } } };
    writeFileSync(path, JSON.stringify({ agents, mcp }));
    const earlier = new EarlierPlaces("/now", [{ path: "/old/state", until: 1 }]);
    const { config, warnings } = await loadConfig({ path, env: {}, earlier });
    expect(config.agents.list.map(({ workspace }) => workspace)).toEqual(["/now/workspace-owl", "/old/x"]);
    expect(config.mcp.servers["notes"]).toMatchObject({ args: ["--root=/now/notes"] });
    expect(warnings.map(({ text }) => text)).toEqual([
      expect.stringContaining("names where this state directory was before; /now/workspace-owl is used"),
      expect.stringContaining("names where this state directory was before; --root=/now/notes is used"),
    ]);
  });
});
