import { describe, vi } from "vitest";
import { z } from "zod";
import type { ModelCall, ModelReply } from "../../fakes/model.ts";
import { PATIENCE } from "../../kit/gateway/process.ts";
import { call } from "../../kit/gateway/rpc.ts";
import { inboxOf, outcomesOf, sessionsOf } from "../../kit/gateway/state-files.ts";
import { test, type World } from "../../kit/gateway/world.ts";

const OPEN = {
  commands: { ownerAllowFrom: ["1001"] },
  agents: { list: [{ id: "main", default: true }, { id: "research" }] },
  tools: { sessions: { visibility: "all" }, agentToAgent: { enabled: true } },
};
const GROUP = -100_500;
const RELAYED = "# Agent-to-agent message";

interface Scene {
  readonly person: (call: ModelCall) => ModelReply;
  /** The agent that another one has written to. */
  readonly asked?: (call: ModelCall) => ModelReply;
}

function play({ model }: World, { person, asked }: Scene): void {
  model.answer((call) => {
    if (call.isAfterTool) return { text: `tool: ${call.toolText}` };
    if (call.system.includes(RELAYED)) return asked?.(call) ?? { text: "REPLY_SKIP" };
    return person(call);
  });
}

const tool = (name: string, args: Record<string, unknown>): ModelReply => ({ tool: name, args });

describe.concurrent("sessions that talk to each other", () => {
  test("an agent asks another one and gets its answer", async ({ world, expect }) => {
    const { home } = await world.start({ ...OPEN, session: { agentToAgent: { maxPingPongTurns: 0 } } });
    play(world, {
      person: (call) =>
        call.said.includes("ask")
          ? tool("sessions_send", { agentId: "research", message: "what is the answer?", timeoutSeconds: 20 })
          : { text: "hm" },
      asked: ({ said }) => ({ text: said.includes("what is the answer?") ? "forty-two" : "?" }),
    });
    world.telegram.say("ask");
    await world.told(/tool: .*forty-two/);
    const asked = world.model.calls.find(({ system }) => system.includes(RELAYED));
    expect(asked?.said).toMatch(
      /^\[Inter-session message\] sourceSession=agent:main:telegram:default:1001 sourceTool=sessions_send/,
    );
    const relayed = inboxOf(home).filter(({ kind }) => kind === "relay");
    expect(relayed[0]).toMatchObject({ session: "agent:research:main", outcome: { kind: "replied" } });
  });

  test.for([
    ["self", { sessions: { visibility: "self" } }, "agent:main:other", "visibility is self"],
    ["tree", {}, "agent:main:other", "visibility is tree"],
    ["another agent", { sessions: { visibility: "all" } }, "agent:research:main", "tools.agentToAgent.enabled"],
  ] as const)("%s: no tool reaches further than the config says", async ([, tools, key, why], { world, expect }) => {
    await world.start({ ...OPEN, tools: { agentToAgent: { enabled: false }, ...tools } });
    const calls: readonly (readonly [string, Record<string, unknown>])[] = [
      ["session_status", { sessionKey: key }],
      ["session_status", { sessionKey: key, model: "fake/fake-1" }],
      ["sessions_history", { sessionKey: key }],
      ["sessions_send", { sessionKey: key, message: "hello", timeoutSeconds: 0 }],
    ];
    play(world, {
      person: ({ said }) => {
        const [name, args] = calls[Number(/try (\d)/.exec(said)?.[1])] ?? expect.fail(said);
        return tool(name, args);
      },
    });
    for (const [at] of calls.entries()) {
      world.telegram.say(`try ${at}`);
      await vi.waitFor(
        () => expect(world.model.calls.filter((call) => call.isAfterTool)).toHaveLength(at + 1),
        PATIENCE,
      );
    }
    const results = world.model.calls.filter((call) => call.isAfterTool).map(({ toolText }) => toolText);
    // A message is for a session that there is.
    const refused = expect.stringMatching(new RegExp(`${why}|There is no session`));
    expect(results).toEqual(calls.map(() => refused));
  });

  test("answers go back and forth until one skips, and never beyond the limit", async ({ world, expect }) => {
    const { home } = await world.start({ ...OPEN, session: { agentToAgent: { maxPingPongTurns: 3 } } });
    let turns = 0;
    play(world, {
      person: (call) =>
        call.said.includes("ask")
          ? tool("sessions_send", { agentId: "research", message: "ping", timeoutSeconds: 0 })
          : { text: "hm" },
      asked: () => ({ text: `turn ${(turns += 1)}` }),
    });
    world.telegram.say("ask");
    await world.told(/tool: .*accepted/);
    await outcomesOf(home, 6);
    expect(turns).toBe(4);
    const outcomes = inboxOf(home)
      .filter(({ kind }) => kind === "relay")
      .map(({ outcome }) => outcome?.["kind"]);
    // The last step has no chat that it could tell.
    expect(outcomes).toEqual(["replied", "replied", "replied", "replied", "dropped"]);
    expect(world.telegram.shown(1001)).toHaveLength(1);
  });

  test("REPLY_SKIP ends the exchange", async ({ world, expect }) => {
    const { home } = await world.start(OPEN);
    play(world, {
      person: (call) =>
        call.said.includes("ask")
          ? tool("sessions_send", { agentId: "research", message: "ping", timeoutSeconds: 0 })
          : { text: "hm" },
      asked: ({ said }) => ({ text: said.includes("ping") ? "pong" : "REPLY_SKIP" }),
    });
    world.telegram.say("ask");
    await world.told(/tool: .*accepted/);
    await outcomesOf(home, 8);
    expect(world.model.calls.filter(({ system }) => system.includes(RELAYED))).toHaveLength(2);
  });

  test("a guest's agent sees its own session alone", async ({ world, expect }) => {
    const { home } = await world.start({ ...OPEN, channels: { telegram: { allowFrom: ["*"], dmPolicy: "open" } } });
    play(world, {
      person: (call) => {
        if (call.said.includes("list")) return tool("sessions_list", {});
        if (call.said.includes("read")) return tool("sessions_history", { sessionKey: "telegram:default:1001" });
        if (call.said.includes("write"))
          return tool("sessions_send", { sessionKey: "telegram:default:1001", message: "do as I say" });
        return { text: "the secret is plum" };
      },
    });
    world.telegram.say("hello");
    await world.told("the secret is plum");
    for (const words of ["list", "read", "write"]) world.telegram.say(words, { from: { id: 2002 } });
    await outcomesOf(home, 4);
    await vi.waitUntil(() => world.telegram.shown(2002).join().includes("telegram:default:2002"), PATIENCE);
    const shown = world.telegram.shown(2002).join("\n");
    expect(shown).toContain("telegram:default:2002");
    expect(shown).not.toContain("telegram:default:1001");
    expect(shown).not.toContain("plum");
    expect(inboxOf(home).filter(({ kind }) => kind === "relay")).toEqual([]);
  });

  test("an owner's agent reads another session where the config lets it", async ({ world, expect }) => {
    const { home } = await world.start({
      ...OPEN,
      channels: { telegram: { groupPolicy: "allowlist", groups: { [String(GROUP)]: {} } } },
    });
    play(world, {
      person: (call) => {
        if (call.said.includes("list")) return tool("sessions_list", { messageLimit: 2 });
        if (call.said.includes("read"))
          return tool("sessions_history", { sessionKey: `telegram:default:group:${GROUP}` });
        return { text: "noted: the launch is on Friday" };
      },
    });
    world.telegram.say("@test_bot remember the launch", {
      from: { id: 1001, first_name: "Ada" },
      chat: { id: GROUP, type: "supergroup", title: "Crew" },
    });
    await world.told("the launch is on Friday", GROUP);
    world.telegram.say("list");
    world.telegram.say("read");
    await outcomesOf(home, 3);
    await vi.waitUntil(() => world.telegram.shown(1001).length === 2, PATIENCE);
    const shown = world.telegram.shown(1001);
    for (const text of shown) expect(text).toMatch(/tool: .*launch is on Friday/s);
  });

  test("each key that an agent reads is one that clients see and every tool takes", async ({ world, expect }) => {
    const { home, gateway } = await world.start({
      ...OPEN,
      channels: { telegram: { groupPolicy: "allowlist", groups: { [String(GROUP)]: {} } } },
    });
    const said = { text: "noted: the launch is on Friday" };
    const other = `agent:main:telegram:default:group:${GROUP}`;
    const calls: readonly (readonly [string, Record<string, unknown>])[] = [
      ["sessions_list", { messageLimit: 1 }],
      ["sessions_history", { sessionKey: other }],
      ["sessions_search", { query: "launch" }],
      ["sessions_search", { query: "launch", sessionKeys: [other] }],
      ["session_status", {}],
      ["session_status", { sessionKey: other }],
      ["sessions_send", { sessionKey: other, message: "is it?", timeoutSeconds: 20 }],
      ["sessions_send", { agentId: "research", message: "is it?", timeoutSeconds: 0 }],
      ["sessions_history", { sessionKey: "agent:main:telegram:default:none" }],
      ["cron", { action: "list" }],
      ["sessions_spawn", { task: "count", label: "counter" }],
      ["subagents", { action: "list" }],
    ];
    play(world, {
      person: (call) => {
        const [name = "", args = {}] = calls[Number(/try (\d+)/.exec(call.said)?.[1])] ?? [];
        return name === "" ? said : tool(name, args);
      },
      asked: () => said,
    });
    world.telegram.say("@test_bot remember the launch", {
      from: { id: 1001, first_name: "Ada" },
      chat: { id: GROUP, type: "supergroup", title: "Crew" },
    });
    await world.told("the launch is on Friday", GROUP);
    await call(gateway, "cron.add", {
      name: "tea",
      schedule: { kind: "every", everyMs: 9e8 },
      sessionTarget: `session:${other}`,
      payload: { kind: "agentTurn", message: "tea" },
    });
    const results = () => world.model.calls.filter((call) => call.isAfterTool).map(({ toolText }) => toolText);
    for (const [at] of calls.entries()) {
      world.telegram.say(`try ${at}`);
      await vi.waitFor(() => expect(results().length).toBeGreaterThan(at), PATIENCE);
    }
    await world.told(/tool: .*counter/);
    const read = world.model.calls.map(({ body }) => JSON.stringify(body)).join("\n");
    const inner = Object.keys(sessionsOf(home)).filter((one) => !one.startsWith("agent:"));
    expect(inner).toContain(`telegram:default:group:${GROUP}`);
    // A snippet of a search begins anywhere.
    const isBare = (key: string) => read.match(new RegExp(`.{0,80}(?<!agent:main:|…)${key}.{0,20}`));
    expect(inner.flatMap((key) => isBare(key) ?? [])).toEqual([]);
    const named = new Set(results().flatMap((text) => text.match(/agent:[\w:.-]+/g) ?? []));
    expect(named).toContain(other);
    expect(named).toContain("agent:main:telegram:default:1001");
    const listed = z
      .object({ sessions: z.array(z.object({ key: z.string() })) })
      .parse(await call(gateway, "sessions.list"));
    const keys = new Set(listed.sessions.map(({ key }) => key));
    expect([...named].filter((key) => !keys.has(key) && !key.includes(":none"))).toEqual([]);
    const history = JSON.stringify(await call(gateway, "chat.history", { sessionKey: other }));
    expect(history).toContain(`"sourceSessionKey":"agent:main:telegram:default:1001"`);
  });
});
