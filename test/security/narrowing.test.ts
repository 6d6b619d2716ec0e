import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig, loadConfigText } from "../../src/app/config/load.ts";
import { accountStop, agentStop } from "../../src/app/config/keys/narrowing.ts";
import { NARROWING_KEYS } from "../../src/app/config/keys/narrowing-keys.ts";
import { makeStateDirs, resolvePaths } from "../../src/app/config/paths.ts";
import { resolveAgents } from "../../src/app/config/settings.ts";
import { configCheck } from "../../src/app/doctor/config-check.ts";
import { type Gateway, startGateway } from "../../src/app/gateway/gateway.ts";
import { bundledContributions, contributedSchemas } from "../../src/app/contributions/extensions.ts";
import { Live } from "../../src/app/compose/live.ts";
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
  "allowlist",
  "disabled",
  "messaging",
];
const nest = (key: string, value: unknown): unknown =>
  key.split(".").reduceRight<unknown>((inner, name, at, all) => {
    if (name !== "*") return { [name]: inner };
    const isList = all[at - 1] === "list";
    return isList ? [{ id: "a", ...Object(inner) }] : { [at === 1 ? "telegram" : "x"]: inner };
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
      work: { botToken: "1:a", groups: { "-1": { skills: ["x"] } } },
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
    const doctor = await configCheck(options).run(AbortSignal.timeout(10_000));
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
