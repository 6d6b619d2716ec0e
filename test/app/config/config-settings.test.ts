import { LoopGuard } from "../../../src/harness/tools/loops/guard.ts";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { recordLog } from "../../kit/log.ts";
import { ensureGatewayToken, gatewayTokenFile, findGatewayToken } from "../../../src/app/config/gateway-login.ts";
import { makeStateDirs, resolvePaths } from "../../../src/app/config/paths.ts";
import { configSchema } from "../../../src/app/config/schema/schema.ts";
import { resolveAgents } from "../../../src/app/config/settings.ts";
import { channelAccounts } from "../../../src/channels/config.ts";

const places = { home: "/home/ada", stateDir: "/home/ada/.openclaw" };
const agentsOf = (input: unknown) => resolveAgents(configSchema.parse(input), places);

describe("agent settings", () => {
  it("are one frozen agent named main by default", () => {
    const agents = agentsOf({});
    expect(agents).toHaveLength(1);
    expect(agents[0]).toMatchObject({
      id: "main",
      workspace: "/home/ada/.openclaw/workspace",
      model: { fallbacks: [] },
      thinking: "off",
      timeoutMs: 600_000,
      prompt: { bootstrapMaxChars: 20_000, skipBootstrap: false },
      tools: { global: { key: "tools" }, workspaceOnly: true },
      exec: { security: "allowlist", ask: "on-miss", timeoutMs: 600_000 },
      streaming: { blocks: false, breakAt: "text_end" },
    });
    expect(Object.isFrozen(agents[0]?.tools.global.deny)).toBe(true);
  });

  it("gives the tools for images and documents their models and limits", () => {
    const [agent] = agentsOf({
      agents: {
        defaults: {
          imageModel: { primary: "a/b/c", fallbacks: ["d/e"], timeoutMs: 5000 },
          pdfModel: { primary: "f/g", timeoutMs: 6000 },
          imageGenerationModel: "h/i",
          imageMaxDimensionPx: 800,
        },
      },
    });
    expect(agent?.media).toEqual({
      imageMaxSide: 800,
      image: {
        models: [
          { provider: "a", id: "b/c" },
          { provider: "d", id: "e" },
        ],
        timeoutMs: 5000,
      },
      pdf: { models: [{ provider: "f", id: "g" }], timeoutMs: 6000 },
      draw: { models: [{ provider: "h", id: "i" }] },
      pdfMaxBytes: 10_485_760,
      pdfMaxPages: 20,
    });
    expect(agentsOf({ agents: { defaults: { imageModel: "a/b" } } })[0]?.media?.image).toEqual({
      models: [{ provider: "a", id: "b" }],
    });
  });

  it("take an agent's own over the defaults, the default agent first", () => {
    const [first, second] = agentsOf({
      agents: {
        defaults: { model: { primary: "a/b/c", fallbacks: ["d/e"] }, thinkingDefault: "adaptive", workspace: "~/work" },
        list: [
          { id: "helper", model: "x/y", tools: { profile: "minimal", deny: ["exec"], exec: { ask: "always" } } },
          { id: "boss", default: true, thinkingDefault: "max", skills: [] },
        ],
      },
      tools: { deny: ["write"], exec: { timeoutSec: 5 } },
    });
    expect(first).toMatchObject({
      id: "boss",
      workspace: "/home/ada/work",
      model: { primary: { provider: "a", id: "b/c" }, fallbacks: [{ provider: "d", id: "e" }] },
      thinking: "xhigh",
      prompt: { skills: [] },
    });
    expect(second).toMatchObject({
      id: "helper",
      workspace: "/home/ada/.openclaw/workspace-helper",
      model: {
        primary: { provider: "x", id: "y" },
        fallbacks: [
          { provider: "d", id: "e" },
          { provider: "a", id: "b/c" },
        ],
      },
      thinking: "medium",
      tools: {
        global: { key: "tools", deny: ["write"] },
        agent: { key: "agents.list[0].tools", profile: "minimal", deny: ["exec"] },
      },
      exec: { ask: "always", timeoutMs: 5000 },
    });
  });

  it("do not ask an agent's own model a second time when it is one of the defaults", () => {
    const [first, second] = agentsOf({
      agents: {
        defaults: { model: { primary: "a/b", fallbacks: ["d/e"] } },
        list: [
          { id: "one", model: "d/e" },
          { id: "two", model: "a/b" },
        ],
      },
    });
    expect(first?.model.fallbacks).toEqual([{ provider: "a", id: "b" }]);
    expect(second?.model.fallbacks).toEqual([{ provider: "d", id: "e" }]);
  });

  it("keep as much of a tool's result as the defaults or the agent say", () => {
    expect(agentsOf({})[0]).not.toHaveProperty("toolResultMaxChars");
    const [first, second] = agentsOf({
      agents: {
        defaults: { contextLimits: { toolResultMaxChars: 9000 }, compaction: { mode: "default" } },
        list: [{ id: "a" }, { id: "b", contextLimits: { toolResultMaxChars: 500, postCompactionMaxChars: 7 } }],
      },
    });
    expect(first).toMatchObject({ toolResultMaxChars: 9000, compaction: { inOneCall: true, sectionsMaxChars: 3000 } });
    expect(second).toMatchObject({ toolResultMaxChars: 500, compaction: { sectionsMaxChars: 7 } });
  });

  it("prune tool results only when the config says so", () => {
    expect(agentsOf({})[0]).not.toHaveProperty("pruning");
    const given = { mode: "cache-ttl", ttl: "1h", keepLastAssistants: 5, softTrim: { maxChars: 10 } };
    expect(agentsOf({ agents: { defaults: { contextPruning: given } } })[0]?.pruning).toEqual({
      ttlMs: 3_600_000,
      keepLastAssistants: 5,
      softTrimRatio: 0.3,
      hardClearRatio: 0.5,
      minPrunableToolChars: 50_000,
      softTrim: { maxChars: 10, headChars: 1500, tailChars: 1500 },
      hardClear: { enabled: true, placeholder: "[compacted: tool output removed to free context]" },
      tools: { allow: [], deny: ["memory_*"] },
    });
    expect(() => agentsOf({ agents: { defaults: { contextPruning: { ttl: "soon" } } } })).toThrow(/5m, 90s or 1h/);
  });

  it("say what comes around a compaction", () => {
    const compaction = (given: object, contextLimits = {}) =>
      agentsOf({ agents: { defaults: { compaction: given, contextLimits } } })[0]?.compaction;
    expect(compaction({})).toEqual({
      reserveTokens: 20_000,
      keepRecentTokens: 20_000,
      timeoutMs: 180_000,
      memoryFlush: { softThresholdTokens: 4000 },
      notifyUser: false,
      sections: ["Session Startup", "Red Lines"],
      sectionsMaxChars: 3000,
    });
    expect(
      compaction({ memoryFlush: { prompt: "save" }, identifierPolicy: "off" }, { postCompactionMaxChars: 9 }),
    ).toMatchObject({
      memoryFlush: { softThresholdTokens: 4000, prompt: "save" },
      identifiers: "",
      sectionsMaxChars: 9,
    });
    const off = compaction({ enabled: false });
    expect(off).toMatchObject({ when: "asked" });
    expect(off).not.toHaveProperty("memoryFlush");
    expect(compaction({ memoryFlush: { enabled: false } })).not.toHaveProperty("memoryFlush");
    const [agent] = agentsOf({ plugins: { slots: { memory: "recall" } } });
    expect(agent?.compaction).not.toHaveProperty("memoryFlush");
    expect(agentsOf({ plugins: { slots: { memory: "none" } } })[0]?.compaction).toHaveProperty("memoryFlush");
  });

  it("refuse one id for two", () => {
    expect(() => agentsOf({ agents: { list: [{ id: "a" }, { id: "a" }] } })).toThrow('two agents with the id "a"');
  });
});

describe("channel accounts", () => {
  it("take over the channel's keys", () => {
    const { channels } = configSchema.parse({
      channels: {
        telegram: {
          dmPolicy: "open",
          allowFrom: [42],
          accounts: { a: {}, b: { dmPolicy: "disabled", enabled: false, botToken: "x" } },
        },
      },
    });
    const accounts = channelAccounts(channels["telegram"]!);
    expect(
      accounts.map(({ id, config }) => [id, config.enabled, config.dmPolicy, config.allowFrom, config["botToken"]]),
    ).toEqual([
      ["a", true, "open", ["42"], undefined],
      ["b", false, "disabled", ["42"], "x"],
    ]);
  });

  it("are one named default when none is listed", () => {
    const { channels } = configSchema.parse({ channels: { telegram: { enabled: false } } });
    expect(channelAccounts(channels["telegram"]!)).toMatchObject([
      { id: "default", config: { enabled: false, dmPolicy: "pairing" } },
    ]);
  });
});

describe("paths", () => {
  it("follow the environment", () => {
    expect(resolvePaths({ HOME: "/h" })).toMatchObject({
      stateDir: "/h/.openclaw",
      configPath: "/h/.openclaw/openclaw.json",
    });
    expect(resolvePaths({ HOME: "/h", OPENCLAW_STATE_DIR: "~/x", OPENCLAW_CONFIG_PATH: "/etc/o.json" })).toMatchObject({
      stateDir: "/h/x",
      configPath: "/etc/o.json",
      lockFile: "/h/x/state/gateway.lock",
    });
  });

  it("are made private, with a token that stays", async () => {
    const home = mkdtempSync(join(tmpdir(), "paths-"));
    try {
      const paths = resolvePaths({ HOME: home });
      const config = configSchema.parse({});
      await makeStateDirs(paths);
      expect(statSync(paths.credentials).mode & 0o777).toBe(0o700);
      expect(await findGatewayToken(paths, config, {})).toBeUndefined();
      const { token } = await ensureGatewayToken(paths, config, { env: {} });
      expect(token.reveal()).toMatch(/^[\w-]{43}$/);
      expect((await ensureGatewayToken(paths, config, { env: {} })).token.reveal()).toBe(token.reveal());
      expect(statSync(gatewayTokenFile(paths)).mode & 0o777).toBe(0o600);
      expect(readFileSync(gatewayTokenFile(paths), "utf8").trim()).toBe(token.reveal());
      chmodSync(gatewayTokenFile(paths), 0o644);
      const log = recordLog();
      await ensureGatewayToken(paths, config, { env: {}, log });
      expect(statSync(gatewayTokenFile(paths)).mode & 0o777).toBe(0o600);
      await ensureGatewayToken(paths, config, { env: {}, log });
      expect(log.lines).toEqual(["warn the gateway token's file was open to other users and is closed now"]);
      const own = configSchema.parse({ gateway: { auth: { token: "mine" } } });
      const env = { OPENCLAW_GATEWAY_TOKEN: " of-the-environment " };
      expect((await ensureGatewayToken(paths, own, { env })).token.reveal()).toBe("mine");
      expect(await findGatewayToken(paths, config, env)).toMatchObject({ from: "variable" });
      expect((await findGatewayToken(paths, config, env))?.token.reveal()).toBe("of-the-environment");
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });

  it.each(["", "credentials", "state"])("are refused when everybody may write them: <state>/%s", async (name) => {
    const home = mkdtempSync(join(tmpdir(), "paths-"));
    try {
      const paths = resolvePaths({ HOME: home });
      const open = join(paths.stateDir, name);
      mkdirSync(open, { recursive: true });
      chmodSync(open, 0o777);
      await expect(makeStateDirs(paths)).rejects.toMatchObject({ code: "STATE_PERMISSIONS" });
      chmodSync(open, 0o775);
      await makeStateDirs(paths);
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });

  it("takes from the config what a person confirms after untrusted content: everything risky when unset", () => {
    const confirmed = (tools: object) => agentsOf({ tools })[0]?.tools.confirmUntrusted;
    expect(confirmed({})).toEqual(["commands", "prompt-files", "messages", "network"]);
    expect(confirmed({ untrusted: { confirm: ["messages"] } })).toEqual(["messages"]);
    expect(confirmed({ untrusted: { confirm: [] } })).toEqual([]);
    expect(() => confirmed({ untrusted: { confirm: ["nothing"] } })).toThrow();
  });

  it("gives an agent its own loop detection over that of all, and the guard obeys it", () => {
    const shared = {
      enabled: true,
      historySize: 12,
      warningThreshold: 3,
      criticalThreshold: 5,
      unknownToolThreshold: 4,
      globalCircuitBreakerThreshold: 9,
      detectors: { genericRepeat: false, knownPollNoProgress: false, pingPong: false },
      postCompactionGuard: { windowSize: 2 },
    };
    const own = { ...shared, enabled: false, criticalThreshold: 7, detectors: { genericRepeat: true } };
    const [first, second, third] = agentsOf({
      tools: { loopDetection: shared },
      agents: {
        list: [
          { id: "a" },
          { id: "b", tools: { loopDetection: own } },
          { id: "c", tools: { loopDetection: { ...own, enabled: true } } },
        ],
      },
    });
    const { postCompactionGuard: _, ...counts } = shared;
    expect(first?.tools.loops).toEqual({ ...counts, postCompactionWindow: 2 });
    const detectors = { genericRepeat: true, knownPollNoProgress: false, pingPong: false };
    expect(second?.tools.loops).toMatchObject({ enabled: false, criticalThreshold: 7, detectors });
    const stops = [first, second, third].map((agent) => {
      const guard = new LoopGuard(agent?.tools.loops);
      const call = { tool: "look", key: "look" };
      for (let turn = 1; turn <= 20; turn += 1) {
        if (!guard.block([call]))
          guard.saw({ ...call, outcome: "same", kind: "ran", isPoll: false, isEffective: false });
        guard.endTurn();
        if (guard.stoppedBy) return [guard.stoppedBy.detector, turn];
      }
      return undefined;
    });
    expect(stops).toEqual([["global_circuit_breaker", 11], undefined, ["generic_repeat", 9]]);
  });
});
