import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../../src/app/config/load.ts";
import { loadConfigText } from "../kit/config-text.ts";
import { accountStop, agentStop } from "../../src/app/config/keys/narrowing.ts";
import { FIELD_KEYS } from "../../src/app/config/keys/field-keys.ts";
import { HARMLESS_KEYS, NARROWING_KEYS } from "../../src/app/config/keys/narrowing-keys.ts";
import { makeStateDirs, resolvePaths } from "../../src/app/config/paths.ts";
import { resolveAgents } from "../../src/app/config/settings.ts";
import { configCheck } from "../../src/app/doctor/config-check.ts";
import { type Gateway, startGateway } from "../../src/app/gateway/gateway.ts";
import { bundledContributions, contributedSchemas } from "../../src/app/contributions/extensions.ts";
import { Live } from "../../src/app/live.ts";
import { openLog } from "../../src/app/log/log.ts";
import { mayAnswer } from "../../src/sessions/rows/send-policy.ts";
import { sessionKey } from "../../src/types/ids.ts";
import { type DispatchFixture, openDispatchFixture } from "../kit/dispatch.ts";
import { until } from "../kit/until.ts";

const load = async (config: unknown) =>
  loadConfigText(JSON.stringify(config), {
    path: "/x/openclaw.json",
    env: {},
    ...(await contributedSchemas(bundledContributions())),
  });

/** A value that narrows, for each key of the table. */
const VALUES: readonly unknown[] = [
  ["exec"],
  { deny: ["exec"] },
  true,
  false,
  "node",
  "ssh",
  "relay",
  "allowlist",
  "disabled",
  "messaging",
  "message_tool",
  "never",
  "off",
];
const nest = (key: string, value: unknown, channel = "telegram"): unknown =>
  key.split(".").reduceRight<unknown>((inner, name, at, all) => {
    if (name !== "*") return { [name]: inner };
    const isList = all[at - 1] === "list";
    return isList ? [{ id: "a", ...Object(inner) }] : { [at === 1 ? channel : "x"]: inner };
  }, value);

describe("a key that narrows and is not obeyed", () => {
  it.each(NARROWING_KEYS.map(({ key }) => key))("%s stops something, by name", async (key) => {
    const row = NARROWING_KEYS.find((one) => one.key === key);
    const value = VALUES.find((one) => row?.narrows(one) === true);
    expect(value, "a value that narrows").toBeDefined();
    const { stops, warnings } = await load(nest(key, value));
    expect(stops.length).toBeGreaterThan(0);
    const note = warnings.find(({ isStop }) => isStop === true);
    expect(note?.text).toMatch(/does not obey: .+ (is|are) stopped until the key is gone/);
    expect(
      warnings.filter(({ message }) => message.includes("no effect here yet")).map(({ key: told }) => told),
    ).not.toContain(note?.key);
  });

  it("stops only the agent that it is for", async () => {
    const list = [{ id: "a", tools: { exec: { host: "node" } } }, { id: "b" }];
    const { config, stops } = await load({ agents: { list } });
    const agents = resolveAgents(config, { home: "/", stateDir: "/", stops });
    expect(agents.map(({ id, stopped }) => [id, stopped !== undefined])).toEqual([
      ["a", true],
      ["b", false],
    ]);
    expect(agentStop(stops, "a")).toContain("agents.list[0].tools.exec.host");
  });

  it("is judged by the agent's own value where it has one", async () => {
    const agents = {
      list: [{ id: "a", tools: { exec: { host: "gateway" } } }, { id: "b" }],
    };
    const { stops } = await load({ agents, tools: { exec: { host: "node" } } });
    expect([agentStop(stops, "a"), agentStop(stops, "b")]).toEqual([undefined, expect.stringContaining("exec.host")]);
  });

  it("stops only the account that it is for", async () => {
    const accounts = {
      work: { botToken: "1:a", groups: { "-1": { groupPolicy: "disabled" } } },
      home: { botToken: "2:b" },
    };
    const { stops } = await load({ channels: { telegram: { accounts } } });
    expect(accountStop(stops, "telegram", "home")).toBeUndefined();
    expect(accountStop(stops, "telegram", "work")).toContain("channels.telegram.accounts.work.groups");
  });

  it("stops nothing with a value that leaves all open", async () => {
    const { stops } = await load({
      tools: { exec: { host: "gateway", strictInlineEval: false } },
      channels: { telegram: { botToken: "1:a", contextVisibility: "all" } },
    });
    expect(stops).toEqual([]);
  });

  it("stops nothing where it is obeyed, or where the platform has nothing that it could narrow", async () => {
    const names = ["sendMessage", "messages", "reactions", "editMessage", "deleteMessage", "polls"];
    const actions = Object.fromEntries(names.map((name) => [name, false]));
    const discord = { token: "1", actions, dm: { groupEnabled: false, groupChannels: ["1"] } };
    const slack = { botToken: "xoxb-1", appToken: "xapp-1", actions };
    const { stops } = await load({ channels: { discord, slack } });
    expect(stops).toEqual([]);
  });
});

describe("a key of OpenClaw that has no effect", () => {
  /** The words that names of restricting keys have. */
  const NARROWS = new RegExp(
    "(allow|deny|denied|block|disab|enabled|restrict|require|only|policy|scope|visib|approv|auth|private|hide|redact|confirm|" +
      "ephemeral|users|members|injection|attach|proxy|tls|profile|seccomp|apparmor|ulimits|reactionlevel|sanit|ssrf|guard)[a-z]*$",
    "i",
  );
  /** Switches of features without which nobody may do or see less, and words that only look alike. */
  const FEATURES = new RegExp(
    "(diagnostics|pricing|compaction|statusReactions|commitments|web|healthMonitor|autoPresence|autoTopicLabel)\\.enabled$|" +
      "^proxy(\\.proxyUrl|\\.tls)?$|pingPongLogging|blockStreaming|streaming\\.block|qualityGuard|perProfile|fallbackPolicy|errorPolicy",
  );

  /** Every key of OpenClaw configs, `*` for any name or index. */
  function fieldKeys(): readonly (readonly string[])[] {
    const above: string[] = [];
    return (FIELD_KEYS.match(/[^\s{}]+|[{}]/g) ?? []).flatMap((token, at, all) => {
      if (token === "}") above.pop();
      else if (token === "{") above.push(all[at - 1] ?? "");
      return token === "{" || token === "}" ? [] : [[...above, token]];
    });
  }

  /** Whether setting it is reported as without effect. */
  async function isIdle(path: readonly string[]): Promise<boolean> {
    const shown = path
      .map((name) => (name === "*" ? "x" : name))
      .join(".")
      .replace("list.x", "list[0]");
    for (const value of [true, "x", [], {}, 1]) {
      const config = nest(path.join("."), value, "x");
      const { warnings } = await load(config).catch(() => ({ warnings: undefined }));
      const idle = warnings?.filter(({ message }) => message.includes("no effect here yet"));
      if (idle) return idle.some(({ key }) => shown === key || shown.startsWith(`${key}.`));
    }
    return false;
  }

  const fits = (pattern: string, path: readonly string[], isWhole: boolean): boolean => {
    const parts = pattern.split(".");
    return (
      (isWhole ? parts.length === path.length : parts.length <= path.length) &&
      parts.every((part, at) => part === "*" || part === path[at])
    );
  };

  it("restricts nothing, stops what it would restrict, or is harmless for a reason that the guide names", async () => {
    const looking = fieldKeys().filter((path) => NARROWS.test(path.at(-1) ?? "") && !FEATURES.test(path.join(".")));
    const known = looking.filter(
      (path) =>
        !NARROWING_KEYS.some(({ key }) => fits(key, path, true)) &&
        !HARMLESS_KEYS.some(({ keys }) =>
          keys.some((key) =>
            fits(
              key,
              path.map((name) => name.replace("entries", "list")),
              false,
            ),
          ),
        ),
    );
    const idle = await Promise.all(known.map(async (path) => ((await isIdle(path)) ? [path.join(".")] : [])));
    expect(idle.flat()).toEqual([]);
  });

  it("is named as harmless only while it has no effect", async () => {
    const keys = HARMLESS_KEYS.flatMap((row) => row.keys);
    const paths = keys.map((key) => key.replace("channels.*", "channels.telegram").split("."));
    const obeyed = await Promise.all(paths.map(async (path) => ((await isIdle(path)) ? [] : [path.join(".")])));
    expect(obeyed.flat()).toEqual([]);
  });

  it("is refused where the field has no such key: a misspelt list of an agent must not be a warning", async () => {
    for (const agent of [
      { tools: { dney: ["exec"] } },
      { tools: { web: { fetch: { enabled: false } } } },
      { sandbox: { docker: { netwrok: "none" } } },
    ])
      await expect(load({ agents: { list: [{ id: "a", ...agent }] } })).rejects.toThrow(/unknown key/);
  });
});

describe("a stopped agent", () => {
  let fixture: DispatchFixture;
  beforeEach(async () => {
    fixture = await openDispatchFixture();
    fixture.rules = {
      isOwner: ({ sender }) => sender.id === "owner",
      agent: { stopped: "stopped by tools.x: because." },
    };
  });
  afterEach(() => fixture.close());

  it("gives owners the reason, tells others that it is switched off, asks no model, and has an outcome", async () => {
    const boot = await fixture.boot();
    const outcomes = [await boot.ask("hello", "owner"), await boot.ask("hello", "guest")];
    expect(outcomes).toEqual([
      { kind: "failed", why: "agent_stopped: stopped by tools.x: because." },
      { kind: "failed", why: "agent_stopped: stopped by tools.x: because." },
    ]);
    const texts = fixture.platform.texts;
    expect(texts.filter((text) => text.includes("tools.x"))).toHaveLength(1);
    expect(texts.filter((text) => text.includes("switched off by a setting"))).toHaveLength(1);
    expect(fixture.model.calls).toHaveLength(0);
  });
});

describe("a session with the send policy deny", () => {
  let fixture: DispatchFixture;
  beforeEach(async () => {
    fixture = await openDispatchFixture();
  });
  afterEach(() => fixture.close());

  it("is not answered: no model, no word, an outcome", async () => {
    const boot = await fixture.boot();
    await boot.use("1", (session) => session.update({ sendPolicy: "deny" }, { now: true }));
    expect(await boot.ask("hello", "1")).toMatchObject({
      kind: "dropped",
      why: expect.stringContaining("send_policy"),
    });
    expect(await boot.ask("hello", "2")).toEqual({ kind: "replied" });
    expect(fixture.platform.texts).toEqual(["echo: hello"]);
    expect(fixture.model.calls).toHaveLength(1);
  });

  it("is so by a rule of the config, before one that allows", () => {
    const key = sessionKey("telegram:default:group:-1");
    const asked = { key, channel: "telegram", chatType: "group" as const };
    const rule = (action: "allow" | "deny", match: object) => ({ action, match });
    const may = (first: "allow" | "deny", ...rules: { action: "allow" | "deny"; match: object }[]) =>
      mayAnswer({ default: first, rules }, asked);
    expect(mayAnswer(undefined, asked)).toBe(true);
    expect(may("deny")).toBe(false);
    expect(may("deny", rule("allow", { channel: "telegram" }))).toBe(true);
    expect(may("allow", rule("deny", { chatType: "channel" }))).toBe(false);
    expect(may("allow", rule("deny", { chatType: "dm" }))).toBe(true);
    expect(may("allow", rule("allow", {}), rule("deny", { keyPrefix: "telegram:default:group" }))).toBe(false);
  });
});

describe("an agent with a list of models", () => {
  let fixture: DispatchFixture;
  beforeEach(async () => {
    fixture = await openDispatchFixture();
    fixture.rules = { agent: { allowedModels: ["fake/none-other"] } };
  });
  afterEach(() => fixture.close());

  it("is asked by no other model, whoever chose one and wherever it is written", async () => {
    const boot = await fixture.boot();
    await boot.use("1", (session) =>
      session.update({ providerOverride: "fake", modelOverride: "dear" }, { now: true }),
    );
    expect(await boot.ask("hello", "1")).toEqual({ kind: "replied" });
    expect(fixture.model.calls.map(({ model }) => model)).not.toContain("dear");
    const chosen = fixture.model.calls[0]?.model;
    await boot.ask("/model fake/dear", "1");
    expect(fixture.platform.texts.at(-1)).toMatch(/may not be used here|cannot use/);
    await boot.ask("hello again", "1");
    expect(fixture.model.calls.map(({ model }) => model)).toEqual([chosen, chosen]);
  });
});

describe("a gateway", () => {
  let dir = "";
  let gateway: Gateway | undefined;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "narrowing-"));
  });
  afterEach(async () => {
    await gateway?.close(0);
    rmSync(dir, { recursive: true, force: true });
  });

  it("starts without a stopped account, names key and fix, and takes it up once the key is gone", async () => {
    const path = join(dir, "openclaw.json");
    const base = {
      gateway: { port: 0, reload: { debounceMs: 5 } },
      logging: { level: "silent", consoleLevel: "silent" },
    };
    const telegram = { botToken: "123:abcdefghijk", apiRoot: "http://127.0.0.1:1" };
    const write = (config: object) => writeFileSync(path, JSON.stringify({ ...base, ...config }));
    write({ channels: { telegram: { ...telegram, contextVisibility: "allowlist" } } });
    const paths = resolvePaths({ OPENCLAW_STATE_DIR: dir });
    await makeStateDirs(paths);
    const options = { path, env: {}, ...(await contributedSchemas(bundledContributions())) };
    const live = new Live(paths, dir, await loadConfig(options));
    const file = join(dir, "test.log");
    const log = openLog({ file, level: "info", consoleLevel: "silent", consoleStyle: "json" });
    gateway = await startGateway(live, { log, load: () => loadConfig(options) });
    await until(() => readFileSync(file, "utf8").includes("stopped by channels.telegram.contextVisibility"));
    expect(live.loaded.warnings.map(({ text }) => text).join("\n")).toContain("contextVisibility");
    const doctor = await configCheck(options, paths).run(AbortSignal.timeout(10_000));
    expect(doctor).toContainEqual(
      expect.objectContaining({
        status: "fail",
        message: expect.stringContaining("channels.telegram.contextVisibility"),
      }),
    );
    write({ channels: { telegram }, tools: { exec: { host: "node" } } });
    await until(() => live.defaultAgent.stopped !== undefined);
    const ready = await fetch(`http://127.0.0.1:${gateway.port}/readyz`);
    expect(await ready.text()).toContain("stopped by tools.exec.host");
    write({ channels: { telegram } });
    await until(() => live.defaultAgent.stopped === undefined);
    expect(live.loaded.stops).toEqual([]);
  });
});
