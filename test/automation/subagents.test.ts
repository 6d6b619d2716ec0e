import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { subagentTurn } from "../../src/automation/spawn/subagent-turn.ts";
import { SubagentRuns } from "../../src/automation/spawn/subagents.ts";
import { TURN_KINDS, turnKinds } from "../../src/dispatch/turn-kinds.ts";
import { Contributions } from "../../src/plugins/contributions.ts";
import { Hooks } from "../../src/plugins/hooks.ts";
import { systemClock } from "../../src/types/clock.ts";
import { sessionKey } from "../../src/types/ids.ts";
import type { SubagentRequest, Subagents } from "../../src/types/subagent/subagent.ts";
import type { Tool } from "../../src/types/run/tool.ts";
import { type Boot, type DispatchFixture, heard, openDispatchFixture } from "../kit/dispatch.ts";
import { makeTool, toolSet } from "../kit/tools.ts";
import { until } from "../kit/until.ts";

const KEY = "agent:main:subagent:5d1f";
const never = new AbortController().signal;
const LONG = 20_000;

let fixture: DispatchFixture;
let boot: Boot;
let subagents: Subagents;
let maxSpawnDepth: number;

beforeEach(async () => {
  fixture = await openDispatchFixture();
  maxSpawnDepth = 1;
  boot = await fixture.boot();
  subagents = subagentsOf(boot);
});
afterEach(() => fixture.close());

function subagentsOf({ dispatch, journal, sessions, ports }: Boot): Subagents {
  return new SubagentRuns({
    clock: ports.clock,
    inbox: journal.inbox,
    sessions,
    hooks: ports.runs.hooks,
    rules: () => ({ ...ports.settings(), maxSpawnDepth }),
    receive: (messages) => dispatch.receive(messages),
    decided: (row) => dispatch.decided(row),
    runOf: (id) => dispatch.registry.find(id),
    afterRuns: (key, work) => dispatch.afterRuns(key, work),
  });
}

const ask = (more: Partial<SubagentRequest> = {}) =>
  subagents.run({ sessionKey: KEY, message: "find it", plugin: "finder", ...more });
const waitFor = (runId: string, more: Partial<Parameters<Subagents["waitFor"]>[0]> = {}) =>
  subagents.waitFor({ runId, plugin: "finder", timeoutMs: LONG, signal: never, ...more });
const textsOf = async (key = KEY): Promise<readonly (readonly [string, string])[]> =>
  (await subagents.messages(key, 10)).map(({ role, content }) => [
    role,
    typeof content === "string"
      ? content
      : content.map((part) => (part.type === "text" ? part.text : part.type)).join(),
  ]);

/** The model holds every answer until the returned function is called. */
function heldModel(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  fixture.model.answer(async (call) => {
    await promise;
    return { text: `echo: ${heard(call.said)}` };
  });
  return resolve;
}

describe("a subagent", () => {
  it("runs in a conversation of its own, sends nothing to a chat, and its answer can be read", async () => {
    const { runId } = await ask({ systemPrompt: "Look everywhere." });
    expect(await waitFor(runId)).toEqual({ status: "ok" });
    expect(await textsOf()).toEqual([
      ["user", expect.stringContaining("find it")],
      ["assistant", "echo: find it"],
    ]);
    expect(fixture.platform.texts).toEqual([]);
    expect(boot.sessions.peek(sessionKey(KEY))).toMatchObject({ spawnDepth: 1, spawnedByPlugin: "finder" });
    await until(async () => (await boot.journal.runs.find(runId)) !== undefined);
    expect((await boot.journal.runs.find(runId))?.receipt).toMatchObject({
      trigger: "subagent",
      plugin: "finder",
      calls: 1,
    });
  });

  it("counts with all its calls as its plugin's", async () => {
    const { runId } = await ask();
    await waitFor(runId);
    await until(async () => (await boot.journal.runs.pluginTotals(0)).length > 0);
    const record = await boot.journal.runs.find(runId);
    expect(await boot.journal.runs.pluginTotals(0)).toEqual([
      expect.objectContaining({ plugin: "finder", calls: 1, input: record?.receipt.usage.input }),
    ]);
  });

  it("is one run for one idempotency key, and a later message continues its conversation", async () => {
    const first = await ask({ idempotencyKey: "k1" });
    expect(await ask({ idempotencyKey: "k1" })).toEqual(first);
    await expect(ask({ idempotencyKey: "k1", message: "something else" })).rejects.toThrow("another request");
    await waitFor(first.runId);
    const second = await ask({ idempotencyKey: "k2", message: "and more" });
    await waitFor(second.runId);
    expect((await textsOf()).length).toBe(4);
    expect(fixture.model.calls.length).toBe(2);
    // Another plugin's key names another run, and its conversation is not this one's.
    await expect(ask({ idempotencyKey: "k1", plugin: "other" })).rejects.toThrow("somebody else's");
  });

  it("is one run when requests for two sessions have one idempotency key at the same time, and the second is refused", async () => {
    const keys = [KEY, `${KEY}-2`];
    const [first, second] = await Promise.allSettled(
      keys.map((text) => ask({ sessionKey: text, idempotencyKey: "k1" })),
    );
    expect(first?.status).toBe("fulfilled");
    expect(second).toMatchObject({
      reason: expect.objectContaining({ message: expect.stringContaining("another request") }),
    });
    expect(boot.sessions.peek(sessionKey(`${KEY}-2`))).toBeUndefined();
  });

  it("is refused for keys of chats and for agents that do not exist", async () => {
    for (const text of [
      "main",
      "agent:main:main",
      "telegram:default:1",
      "agent:main:telegram:default:group:1",
      "heartbeat",
      "a::b",
      "x y",
    ])
      await expect(ask({ sessionKey: text })).rejects.toThrow("session key");
    await expect(ask({ sessionKey: "agent:ghost:subagent:1" })).rejects.toThrow('the agent "ghost" does not exist');
    await expect(ask({ message: " " })).rejects.toThrow("needs a message");
    for (const text of ["notes:subagent:17-1", "classify-17"]) await ask({ sessionKey: text });
  });

  it("does not end when a wait for it does", async () => {
    const release = heldModel();
    const { runId } = await ask();
    expect(await waitFor(runId, { timeoutMs: 10 })).toEqual({ status: "timeout" });
    const stop = new AbortController();
    const left = waitFor(runId, { signal: stop.signal });
    stop.abort();
    expect(await left).toMatchObject({ status: "error" });
    expect(await waitFor(runId, { plugin: "other" })).toMatchObject({
      status: "error",
      error: `there is no run ${runId}`,
    });
    release();
    expect(await waitFor(runId)).toEqual({ status: "ok" });
  });

  it("reports why it failed, and that it was stopped", async () => {
    fixture.model.answer(() => ({ status: 400, message: "the request is bad" }));
    const failed = await ask();
    expect(await waitFor(failed.runId)).toMatchObject({ status: "error", error: expect.stringContaining("bad") });
    const release = heldModel();
    const { runId } = await ask({ message: "again" });
    await boot.dispatch.stop(sessionKey(KEY));
    expect(await waitFor(runId)).toEqual({ status: "error", error: "the run was stopped" });
    release();
  });

  it("is removed only by the plugin that asked for it, and then its run ends", async () => {
    const release = heldModel();
    const { runId } = await ask();
    await expect(subagents.remove({ sessionKey: KEY, plugin: "other" })).rejects.toThrow("somebody else's");
    expect(await subagents.remove({ sessionKey: KEY, plugin: "finder" })).toBe(true);
    release();
    expect(await waitFor(runId)).toMatchObject({ status: "error" });
    expect(await textsOf()).toEqual([]);
    expect(await subagents.remove({ sessionKey: KEY, plugin: "finder" })).toBe(false);
  });
});

describe("subagents of subagents", () => {
  const inChild = { sessionKey: sessionKey(KEY), isOwner: true };

  it("are refused at the depth that the config allows", async () => {
    await waitFor((await ask()).runId);
    await expect(ask({ sessionKey: "agent:main:subagent:second", requester: inChild })).rejects.toThrow(
      "maxSpawnDepth is 1",
    );
    maxSpawnDepth = 2;
    await ask({ sessionKey: "agent:main:subagent:second", requester: inChild });
    expect(boot.sessions.peek(sessionKey("agent:main:subagent:second"))).toMatchObject({
      spawnDepth: 2,
      spawnedBy: KEY,
    });
    const inSecond = { sessionKey: sessionKey("agent:main:subagent:second"), isOwner: true };
    await expect(ask({ requester: inSecond })).rejects.toThrow("wait for itself");
    await expect(ask({ requester: inChild })).rejects.toThrow("wait for itself");
  });

  it("have slots of their own, so that a tool can wait for one when all slots are taken", async () => {
    fixture.rules = { maxConcurrent: 1, maxConcurrentSubagents: 1 };
    maxSpawnDepth = 2;
    const below = (depth: number): Tool<{ text: string }> =>
      makeTool(`ask${depth}`, async () => {
        const from = depth === 1 ? boot.keyOf("1") : sessionKey("agent:main:subagent:depth1");
        const { runId } = await ask({
          sessionKey: `agent:main:subagent:depth${depth}`,
          message: `depth ${depth}`,
          requester: { sessionKey: from, isOwner: true },
        });
        return { content: [{ type: "text", text: JSON.stringify(await waitFor(runId)) }] };
      });
    fixture.tools.push(below(1), below(2));
    fixture.model.answer((call) => {
      if (call.isAfterTool) return { text: `got ${call.toolText}` };
      if (call.said.includes("depth 2")) return { text: "the deepest" };
      return { tool: call.said.includes("depth 1") ? "ask2" : "ask1", args: {} };
    });
    expect(await boot.ask("go", "1")).toEqual({ kind: "replied" });
    expect(fixture.platform.texts.join()).toContain('got {"status":"ok"}');
    expect((await textsOf("agent:main:subagent:depth1")).at(-1)).toEqual(["assistant", 'got {"status":"ok"}']);
  });
});

it("ends with the run of the chat that somebody stops", async () => {
  fixture.tools.push(
    makeTool("delegate", async () => {
      const requester = { sessionKey: boot.keyOf("1"), isOwner: true };
      const { runId } = await ask({ message: "dig deep", requester });
      return { content: [{ type: "text", text: JSON.stringify(await waitFor(runId)) }] };
    }),
  );
  fixture.model.answer((call) => (call.said.includes("dig deep") ? "hang" : { tool: "delegate", args: {} }));
  const row = await boot.tell("go", "1");
  await fixture.model.called(2);
  await boot.ask("/stop", "1");
  expect(await boot.outcome(row)).toEqual({ kind: "aborted" });
  await until(() => !boot.dispatch.lanes.isBusy(sessionKey(KEY)));
  expect(fixture.platform.texts).toEqual(["⏹ Stopped."]);
  // One that nobody waits for any more is ended too.
  const left = await ask({ message: "dig deep again", requester: { sessionKey: boot.keyOf("1"), isOwner: true } });
  await fixture.model.called(3);
  await boot.ask("/stop", "1");
  expect(await waitFor(left.runId)).toEqual({ status: "error", error: "the run was stopped" });
});

it("gives a subagent the rights of whoever asked for it", async () => {
  const seen: string[] = [];
  fixture.allTools = () => (_agent, acting) => {
    const { principal } = acting;
    // Plugins compare it with the key that they gave.
    expect(acting).toMatchObject({ sessionKey: KEY, depth: 1, senders: [] });
    seen.push("setUpBy" in principal ? principal.setUpBy : principal.kind);
    return toolSet([]);
  };
  boot = await fixture.boot();
  subagents = subagentsOf(boot);
  const owner = { sessionKey: boot.keyOf("owner"), isOwner: true };
  await waitFor((await ask({ requester: owner })).runId);
  expect(new Set(seen.splice(0))).toEqual(new Set(["owner"]));
  for (const requester of [undefined, { ...owner, isOwner: false }])
    await waitFor((await ask({ requester, message: "as a guest" })).runId);
  expect(new Set(seen)).toEqual(new Set(["guest"]));
});

it("continues the run of an earlier process, once, and a repeated request finds it", async () => {
  heldModel();
  const { runId } = await ask({ idempotencyKey: "k1" });
  await fixture.model.called(1);
  await boot.stop();
  fixture.model.answer((call) => ({ text: `second: ${heard(call.said)}` }));
  boot = await fixture.boot();
  subagents = subagentsOf(boot);
  const waiting = waitFor(runId);
  await boot.recover();
  expect(await ask({ idempotencyKey: "k1" })).toEqual({ runId });
  expect(await waiting).toEqual({ status: "ok" });
  const texts = await textsOf();
  expect(texts.filter(([role]) => role === "user")).toEqual([["user", expect.stringContaining("find it")]]);
  expect(texts.at(-1)).toEqual(["assistant", expect.stringContaining("second: find it")]);
});

it("calls the hooks of plugins when it begins and when it has ended", async () => {
  const calls: unknown[] = [];
  const note = (name: string) => (event: unknown, context: unknown) => void calls.push([name, event, context]);
  const watcher = new Contributions([
    {
      id: "watcher",
      register(registry) {
        registry.addHook("subagent_spawned", note("spawned"));
        registry.addHook("subagent_ended", note("ended"));
      },
    },
  ]);
  const hooks = new Hooks(watcher, systemClock, fixture.log);
  fixture.kinds = turnKinds([...TURN_KINDS, subagentTurn(hooks)]);
  boot = await fixture.boot();
  const withHooks = { ...boot, ports: { ...boot.ports, runs: { ...boot.ports.runs, hooks } } };
  subagents = subagentsOf(withHooks);
  const { runId } = await ask({ requester: { sessionKey: sessionKey("telegram:default:1"), isOwner: true } });
  await waitFor(runId);
  await until(() => calls.length === 2);
  const childSessionKey = KEY;
  const context = expect.objectContaining({ runId, childSessionKey, requesterSessionKey: "telegram:default:1" });
  expect(calls).toEqual([
    ["spawned", { childSessionKey, agentId: "main", runId, mode: "run", threadRequested: false }, context],
    [
      "ended",
      expect.objectContaining({ targetSessionKey: childSessionKey, targetKind: "subagent", runId, outcome: "ok" }),
      context,
    ],
  ]);
});

describe("/subagents", () => {
  const told = () => fixture.platform.texts.at(-1) ?? "";
  const OTHER = "agent:main:subagent:9a07";
  const requester = () => ({ sessionKey: boot.keyOf("1"), isOwner: false });

  it("lists what runs and what has ended for a conversation, shows one, and stops it", async () => {
    const first = await ask({ requester: requester() });
    await waitFor(first.runId);
    heldModel();
    const second = await ask({ sessionKey: OTHER, message: "find more", requester: requester() });
    await boot.ask("/subagents");
    expect(told().split("\n")).toEqual([
      "Subagents:",
      "",
      "1. 9a07: running, agent main, asked for by finder",
      expect.stringMatching(/^2\. 5d1f: ended, last used \d{4}-\d\d-\d\d \d\d:\d\d, agent main, asked for by finder$/),
    ]);
    await boot.ask("/subagents info 2");
    expect(told()).toContain(`Session: ${KEY}`);
    await boot.ask("/subagents log 5d");
    expect(told()).toMatch(/find it\n.*main: echo: find it$/);
    await boot.ask("/subagents info #2");
    expect(told()).toContain(`Session: ${KEY}`);
    await boot.sessions.patch(sessionKey(KEY), { label: "Find It" });
    await boot.ask("/subagents info find it");
    expect(told()).toContain(`Session: ${KEY}`);
    await boot.ask("/subagents stop 9a07");
    expect(told()).toBe("⏹ 9a07 is stopped.");
    expect(await waitFor(second.runId)).toMatchObject({ status: "error" });
    await boot.ask("/subagents stop all");
    expect(told()).toBe("No subagent is running.");
    await boot.ask("/subagents stop 7");
    expect(told()).toBe('This conversation has no subagent "7".');
    await boot.ask("/subagents dance");
    expect(told()).toMatch(/^Use list/);
  });

  it("of another conversation are not found, and stop all ends all of this one", async () => {
    heldModel();
    await ask({ requester: requester() });
    const second = await ask({ sessionKey: OTHER, message: "find more", requester: requester() });
    await boot.ask("/subagents", "2");
    expect(told()).toContain("no subagents");
    await boot.ask("/subagents stop 5d1f", "2");
    expect(told()).toContain("has no subagent");
    await boot.ask("/subagents stop all");
    expect(told()).toBe("⏹ Stopped: 2.");
    expect(await waitFor(second.runId)).toMatchObject({ status: "error" });
  });
});
