import { describe, expect, it } from "vitest";
import { agentToSpawn, overLimit } from "../../../src/automation/spawn/rules.ts";
import { whySessionHidden } from "../../../src/automation/talk/visible.ts";
import { spawnRules, talkRules } from "../../../src/app/compose/subagents/rules.ts";
import { loadConfigText } from "../../kit/config-text.ts";
import { resolveAgents } from "../../../src/app/config/settings.ts";
import { ownerScene } from "../../../scripts/docs/owner-scene.ts";
import { askerOf } from "../../../src/tools/session/asker.ts";
import { OPERATOR } from "../../../src/types/run/principal.ts";
import { agentId, runId, type SessionKey, sessionKey } from "../../../src/types/ids.ts";
import type { SessionAsker } from "../../../src/types/subagent/spawn.ts";

const MAIN = agentId("main");
const OTHER = agentId("other");

async function liveOf(config: object) {
  const text = JSON.stringify(config);
  const loaded = await loadConfigText(text, { path: "/x/openclaw.json", env: {} });
  const agents = resolveAgents(loaded.config, { home: "/home/x", stateDir: "/x" });
  const defaultAgent = agents.find(({ id }) => id === MAIN);
  if (!defaultAgent) throw new Error("no main agent");
  return { config: loaded.config, agents, defaultAgent };
}

const machine = { known: () => undefined };

async function rulesOf(defaults: object, own: object = {}) {
  const list = [{ id: "main", default: true, subagents: own }, { id: "other" }];
  return spawnRules(await liveOf({ agents: { defaults: { subagents: defaults }, list } }), machine);
}

describe("the subagents of an agent", () => {
  it("are as many and as deep as agents.defaults.subagents says", async () => {
    const { of } = await rulesOf({ maxChildrenPerAgent: 2, maxTotalPerSession: 3, maxSpawnDepth: 4 });
    const settings = of(MAIN);
    expect(overLimit({ active: 1, total: 2, depth: 4 }, settings)).toBeUndefined();
    expect(overLimit({ active: 2, total: 2, depth: 1 }, settings)?.error).toContain("maxChildrenPerAgent");
    expect(overLimit({ active: 1, total: 3, depth: 1 }, settings)?.error).toContain("maxTotalPerSession");
    expect(overLimit({ active: 1, total: 2, depth: 5 }, settings)?.error).toContain("maxSpawnDepth");
  });

  it("may be other agents where the defaults or the agent's own entry allow it", async () => {
    const may = async (defaults: object, own: object = {}) =>
      !("status" in agentToSpawn({ agentId: "other" }, { agentId: MAIN }, await rulesOf(defaults, own)));
    expect(await may({})).toBe(false);
    expect(await may({ allowAgents: ["other"] })).toBe(true);
    expect(await may({ allowAgents: ["*"] }, { allowAgents: [] })).toBe(false);
    expect(await may({}, { allowAgents: ["other"] })).toBe(true);
  });

  it("have to be named, and are asked for more, where the defaults or the agent's own entry say so", async () => {
    const both = { requireAgentId: true, delegationMode: "prefer" };
    for (const rules of [await rulesOf(both), await rulesOf({}, both)]) {
      expect(agentToSpawn({}, { agentId: MAIN }, rules)).toMatchObject({ status: "forbidden" });
      expect(rules.of(MAIN).delegationMode).toBe("prefer");
    }
    expect((await rulesOf({}, both)).of(OTHER).delegationMode).toBeUndefined();
  });

  it("have the model, level, time and life that the config says", async () => {
    const defaults = {
      model: { primary: "a/b" },
      thinking: "low",
      runTimeoutSeconds: 9,
      archiveAfterMinutes: 5,
    };
    expect((await rulesOf(defaults)).of(MAIN)).toMatchObject({ ...defaults, model: "a/b" });
    const own = { model: { primary: "c/d" }, thinking: "high" };
    expect((await rulesOf(defaults, own)).of(MAIN)).toMatchObject({
      model: "c/d",
      thinking: "high",
      runTimeoutSeconds: 9,
    });
    expect((await rulesOf({ model: "short" })).of(OTHER).model).toBe("short");
  });

  it("get files as tools.sessions_spawn.attachments allows", async () => {
    const attachments = { enabled: true, maxFiles: 2, maxFileBytes: 10, maxTotalBytes: 15 };
    const live = await liveOf({ tools: { sessions_spawn: { attachments } } });
    expect(spawnRules(live, machine).files).toEqual(attachments);
  });
});

describe("another session", () => {
  const rows = new Map([["child", { sessionId: "c", updatedAt: 1, spawnedBy: "own" }]]);
  const sessions = { peek: (key: SessionKey) => rows.get(key) };
  const asker = (more: Partial<SessionAsker> = {}): SessionAsker => ({
    sessionKey: sessionKey("own"),
    runId: runId("r"),
    agentId: MAIN,
    isOwner: true,
    tools: [],
    isSandboxed: false,
    depth: 0,
    ...more,
  });
  const LIST = { agents: { list: [{ id: "main", default: true }, { id: "other" }] } };

  async function seen(tools: object, by: Partial<SessionAsker> = {}): Promise<readonly string[]> {
    const rules = talkRules(await liveOf({ ...LIST, tools }));
    const keys = ["own", "child", "telegram:default:2", "agent:other:main"];
    return keys.filter((key) => whySessionHidden(sessionKey(key), asker(by), { sessions, rules }) === undefined);
  }

  it("is reached as tools.sessions.visibility says", async () => {
    expect(await seen({})).toEqual(["own", "child"]);
    expect(await seen({ sessions: { visibility: "self" } })).toEqual(["own"]);
    expect(await seen({ sessions: { visibility: "agent" } })).toEqual(["own", "child", "telegram:default:2"]);
    for (const by of [{ isOwner: false }, { isSandboxed: true }])
      expect(await seen({ sessions: { visibility: "all" }, agentToAgent: { enabled: true } }, by)).toEqual([
        "own",
        "child",
      ]);
  });

  it("is reached by a sandboxed session as sandbox.sessionToolsVisibility says", async () => {
    const tools = { sessions: { visibility: "agent" } };
    const bySandboxed = async (agents: object) => {
      const { defaultAgent: agent } = await liveOf({ agents });
      const acting = { principal: OPERATOR, sessionKey: sessionKey("own") };
      const sandboxed = { ...ownerScene(), agent, acting, isSandboxed: true };
      const { seesLikeOthers } = askerOf(sandboxed, { runId: runId("r") });
      return seen(tools, { isSandboxed: true, ...(seesLikeOthers && { seesLikeOthers }) });
    };
    const all = { sandbox: { sessionToolsVisibility: "all" } };
    const own = (sandbox: object) => ({ list: [{ id: "main", default: true, ...sandbox }, { id: "other" }] });
    for (const agents of [own({}), own({ sandbox: { sessionToolsVisibility: "spawned" } })])
      expect(await bySandboxed(agents)).toEqual(["own", "child"]);
    for (const agents of [own(all), { ...own({}), defaults: all }])
      expect(await bySandboxed(agents)).toEqual(["own", "child", "telegram:default:2"]);
    expect(await seen(tools, { isOwner: false, isSandboxed: true, seesLikeOthers: true })).toEqual(["own", "child"]);
  });

  it("of another agent is reached as tools.agentToAgent says", async () => {
    const all = { sessions: { visibility: "all" } };
    expect(await seen(all)).not.toContain("agent:other:main");
    expect(await seen({ ...all, agentToAgent: { enabled: true } })).toContain("agent:other:main");
    expect(await seen({ ...all, agentToAgent: { enabled: true, allow: ["other"] } })).not.toContain("agent:other:main");
    expect(await seen({ ...all, agentToAgent: { enabled: true, allow: ["main", "other"] } })).toContain(
      "agent:other:main",
    );
  });
});
