import { describe, vi } from "vitest";
import type { ModelCall, ModelReply } from "../../fakes/model.ts";
import { PATIENCE } from "../../kit/gateway/process.ts";
import { inboxOf, outcomesOf } from "../../kit/gateway/state-files.ts";
import { test, type World } from "../../kit/gateway/world.ts";

const OWNER = { commands: { ownerAllowFrom: ["1001"] } };
const ANNOUNCED = /A subagent "([^"]+)" ([a-z ]+)/g;

type Answer = (call: ModelCall) => ModelReply | Promise<ModelReply>;

interface Scene {
  /** The model in the person's conversation, in which a tool has not just answered. */
  readonly person?: Answer;
  readonly afterTool?: Answer;
  readonly child?: Answer;
  readonly announced?: Answer;
}

const isChild = ({ system }: ModelCall): boolean => system.includes("# Subagent Context");
/** The subagents of an announcement. */
const announcedIn = ({ said }: ModelCall): readonly string[] =>
  [...said.matchAll(ANNOUNCED)].map(([, name = ""]) => name);

function play({ model }: World, { person, afterTool, child, announced }: Scene): void {
  model.answer((call) => {
    if (isChild(call)) return child?.(call) ?? { text: `done: ${call.said}` };
    if (call.isAfterTool) return afterTool?.(call) ?? { text: "started" };
    if (announcedIn(call).length > 0) return announced?.(call) ?? { text: `told of ${announcedIn(call).join(", ")}` };
    return person?.(call) ?? { text: `echo: ${call.said}` };
  });
}

const spawn = (args: object): ModelReply => ({ tool: "sessions_spawn", args: { ...args } });

describe.concurrent("an agent with subagents", () => {
  test("answers its person meanwhile, and tells each result once", async ({ world, expect }) => {
    const { home } = await world.start(OWNER);
    const gates = new Map(["alpha", "beta", "gamma"].map((name) => [name, Promise.withResolvers<void>()]));
    const left = [...gates.keys()];
    play(world, {
      person: (call) =>
        call.said.includes("begin")
          ? spawn({ task: `work on ${left[0]}`, label: left.shift() })
          : { text: "I am here" },
      afterTool: () =>
        left[0] ? spawn({ task: `work on ${left[0]}`, label: left.shift() }) : { text: "three at work" },
      async child({ said }) {
        const name = /work on (\w+)/.exec(said)?.[1] ?? "";
        await gates.get(name)?.promise;
        return { text: `${name} is found` };
      },
      // The results before it are notes.
      announced: ({ said }) => ({
        text: /\w+ is found/.exec(said.slice(said.lastIndexOf("[System Message]")))?.[0] ?? "",
      }),
    });
    world.telegram.say("begin");
    await world.told("three at work");
    world.telegram.say("are you there?");
    await world.told("I am here");
    for (const [name, gate] of gates) {
      gate.resolve();
      await world.told(`${name} is found`);
    }
    const shown = world.telegram.shown(1001).join("\n");
    for (const name of gates.keys()) expect(shown.split(`${name} is found`)).toHaveLength(2);
    expect(inboxOf(home).filter(({ kind }) => kind === "announce")).toHaveLength(3);
  });

  test("learns of a child's end after the gateway was killed while both worked", async ({ world, expect }) => {
    const { home, gateway } = await world.start(OWNER);
    let isHeld = true;
    play(world, {
      person: (call) => (call.said.includes("begin") ? spawn({ task: "look it up", label: "lookup" }) : { text: "hm" }),
      child: () => (isHeld ? ("hang" as const) : { text: "the answer is 42" }),
      announced: ({ said }) => ({ text: said.includes("the answer is 42") ? "It is 42." : "lost" }),
    });
    world.telegram.say("begin");
    await world.told("started");
    await vi.waitUntil(() => world.model.calls.some(isChild), PATIENCE);
    await gateway.kill("SIGKILL");
    isHeld = false;
    await home.start();
    await world.told("It is 42.");
    const outcomes = await outcomesOf(home, 3);
    expect(outcomes.map((outcome) => outcome?.["kind"])).toEqual(["replied", "replied", "replied"]);
    expect(world.telegram.shown(1001).filter((text) => text === "It is 42.")).toHaveLength(1);
  });

  test("tells one turn of children that end together while it is busy", async ({ world, expect }) => {
    const { home } = await world.start({ ...OWNER, messages: { queue: { mode: "collect" } } });
    const busy = Promise.withResolvers<void>();
    const work = Promise.withResolvers<void>();
    const left = ["one", "two"];
    play(world, {
      async person(call) {
        if (call.said.includes("begin")) return spawn({ task: "t", label: left.shift() });
        await busy.promise;
        return { text: "busy no more" };
      },
      afterTool: () => (left[0] ? spawn({ task: "t", label: left.shift() }) : { text: "started" }),
      child: async () => {
        await work.promise;
        return { text: "result" };
      },
      announced: (call) => ({ text: `heard ${announcedIn(call).join(" and ")}` }),
    });
    world.telegram.say("begin");
    await world.told("started");
    world.telegram.say("keep it busy");
    await vi.waitUntil(() => world.model.calls.some(({ said }) => said.includes("keep it busy")), PATIENCE);
    work.resolve();
    await vi.waitUntil(() => inboxOf(home).filter(({ kind }) => kind === "announce").length === 2, PATIENCE);
    busy.resolve();
    await world.told(/heard (?:one and two|two and one)/);
    const said = world.model.calls.find((call) => announcedIn(call).length === 2)?.said ?? "";
    expect(said).toContain(
      "[Queued announce messages while agent was busy]\n---\nQueued #1\n[System Message] [sessionId: ",
    );
  });

  test("is told of nested work once it is all done", async ({ world, expect }) => {
    await world.start({ ...OWNER, agents: { defaults: { subagents: { maxSpawnDepth: 2 } } } });
    const inner = Promise.withResolvers<void>();
    play(world, {
      person: (call) => (call.said.includes("begin") ? spawn({ task: "outer task", label: "outer" }) : { text: "hm" }),
      async child(call) {
        if (call.said.includes("inner task")) {
          await inner.promise;
          return { text: "inner result" };
        }
        if (call.isAfterTool) return { tool: "sessions_yield", args: {} };
        if (call.said.includes("inner result")) return { text: "outer: made of the inner result" };
        return spawn({ task: "inner task", label: "inner" });
      },
      announced: ({ said }) => ({ text: /made of the inner result/.test(said) ? "all is done" : `too early: ${said}` }),
    });
    world.telegram.say("begin");
    await world.told("started");
    await vi.waitUntil(() => world.model.calls.some(({ said }) => said.includes("inner task")), PATIENCE);
    inner.resolve();
    await world.told("all is done");
    expect(world.telegram.shown(1001)).toEqual(["started", "all is done"]);
  });

  test.for(["NO_REPLY", "ANNOUNCE_SKIP"])(
    "keeps a result to itself with %s, and knows it next",
    async (word, { world, expect }) => {
      const { home } = await world.start(OWNER);
      play(world, {
        person: () => spawn({ task: "look it up", label: "lookup" }),
        // What it did not tell is in the next message of its person.
        announced: ({ said }) => ({
          text: said.includes("what do you know?") ? `I know: ${/done: .*/.exec(said)?.[0]}` : word,
        }),
      });
      world.telegram.say("begin");
      const outcomes = await outcomesOf(home, 3);
      expect(outcomes.at(-1)).toEqual({ kind: "silent" });
      world.telegram.say("what do you know?");
      await world.told("I know: done: look it up");
      expect(world.telegram.shown(1001)).toEqual(["started", "I know: done: look it up"]);
    },
  );

  test("is told of a failure, and not of what it stopped", async ({ world, expect }) => {
    await world.start(OWNER);
    const left: ModelReply[] = [
      spawn({ task: "fail", label: "broken" }),
      spawn({ task: "hang", label: "endless" }),
      { tool: "subagents", args: { action: "kill", target: "endless" } },
    ];
    play(world, {
      person: (call) => (call.said.includes("go on") ? (left.shift() ?? { text: "hm" }) : { text: "hm" }),
      afterTool: ({ toolText }) => ({ text: `tool: ${toolText}` }),
      child: (call) => (call.said.includes("fail") ? { status: 400, message: "no such thing" } : "hang"),
      announced: ({ said }) => ({ text: `about ${/failed: \w+/.exec(said)?.[0]}` }),
    });
    world.telegram.say("go on");
    await world.told("about failed");
    world.telegram.say("go on");
    await vi.waitUntil(() => world.model.calls.some((call) => isChild(call) && call.said.includes("hang")), PATIENCE);
    world.telegram.say("go on");
    await world.told(/tool: .*killed.*killed/s);
    world.telegram.say("anything else?");
    await world.told("hm");
    expect(world.telegram.shown(1001).join("\n")).not.toContain("endless was");
    expect(world.model.calls.filter((call) => announcedIn(call).includes("endless"))).toEqual([]);
  });

  test("is given work by its owner's commands", async ({ world, expect }) => {
    await world.start(OWNER);
    const held = Promise.withResolvers<void>();
    play(world, {
      async child({ said }) {
        if (said.includes("count")) await held.promise;
        return { text: `did: ${said}` };
      },
      announced: ({ said }) => ({ text: `reported ${/did: [^]*(name the goats|sheep)/.exec(said)?.[1]}` }),
    });
    world.telegram.say("/subagents spawn ghost count the sheep");
    await world.told(/may not be started/);
    world.telegram.say("/subagents spawn main count the sheep --thinking huge --model fake/fake-1");
    await world.told("is no thinking level");
    await vi.waitUntil(() => world.model.calls.some(isChild), PATIENCE);
    world.telegram.say("/subagents info count the sheep");
    await world.told("Session: agent:main:subagent:");
    world.telegram.say("/subagents steer #1 name the goats");
    await world.told("begins again with it");
    await world.told("reported name the goats");
    held.resolve();
    expect(world.telegram.shown(1001).filter((text) => text.startsWith("reported"))).toHaveLength(1);
  });
});
