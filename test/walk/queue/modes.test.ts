import { accessSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, vi } from "vitest";
import { inboxOf, outcomesOf } from "../../kit/gateway/state-files.ts";
import { PATIENCE } from "../../kit/gateway/process.ts";
import { test, type World } from "../../kit/gateway/world.ts";

/** The first call waits for `release`; each answer names what was said. */
function holdFirst(world: World): { release: () => void } {
  const held = Promise.withResolvers<void>();
  world.model.answer(async (call, number) => {
    if (number === 1) await held.promise;
    return { text: `answer ${number} to ${/(one|two|three)\b(?!.*\b(one|two|three)\b)/s.exec(call.said)?.[1] ?? "?"}` };
  });
  return { release: () => held.resolve() };
}

const mode = (name: string) => ({ messages: { queue: { mode: name } } });

/** Until the journal has so many messages: what was said is no longer on its way. */
async function arrived(world: World): Promise<void> {
  await vi.waitFor(() => {
    if (world.telegram.pending.length > 0) throw new Error("an update is on its way");
  }, PATIENCE);
}

/** The first call is on, and these messages are there too. */
async function sayWhileBusy(world: World, ...texts: readonly string[]): Promise<void> {
  world.telegram.say("one");
  await world.model.called(1);
  for (const text of texts) world.telegram.say(text);
}

describe.concurrent("messages while the agent is at work", () => {
  test("collect: become one turn with the marker", async ({ world, expect }) => {
    const { home } = await world.start(mode("collect"));
    const { release } = holdFirst(world);
    await sayWhileBusy(world, "two", "three");
    await arrived(world);
    release();
    await world.told("answer 2");
    const outcomes = await outcomesOf(home, 3);
    expect(world.model.calls).toHaveLength(2);
    const said = world.model.calls[1]?.said ?? "";
    expect(said).toContain("[Queued messages while agent was busy]\n---\nQueued #1\ntwo\n---\nQueued #2\nthree");
    expect(outcomes).toEqual([{ kind: "replied" }, { kind: "replied" }, { kind: "merged", into: 2 }]);
  });

  test("followup: get a turn each, in order", async ({ world, expect }) => {
    const { home } = await world.start(mode("followup"));
    const { release } = holdFirst(world);
    await sayWhileBusy(world, "two", "three");
    await arrived(world);
    release();
    await world.told("answer 3");
    expect(await outcomesOf(home, 3)).toEqual([{ kind: "replied" }, { kind: "replied" }, { kind: "replied" }]);
    expect(world.telegram.shown(1001)).toEqual(["answer 1 to one", "answer 2 to two", "answer 3 to three"]);
  });

  test("interrupt: end the running turn", async ({ world, expect }) => {
    const { home } = await world.start(mode("interrupt"));
    world.model.answer((_call, number) => (number === 1 ? "hang" : { text: "the newer answer" }));
    await sayWhileBusy(world, "two");
    await world.told("the newer answer");
    expect(await outcomesOf(home, 2)).toEqual([{ kind: "aborted" }, { kind: "replied" }]);
    expect(world.telegram.shown(1001)).toEqual(["the newer answer"]);
  });

  test("steer: reach the running turn after its tool", async ({ world, expect }) => {
    const { home } = await world.start(mode("steer"));
    const held = Promise.withResolvers<void>();
    world.model.answer(async (call, number) => {
      if (number > 1) return { text: `seen: ${call.said.includes("two") ? "two" : "nothing new"}` };
      await held.promise;
      return { tool: "ls", args: {} };
    });
    await sayWhileBusy(world, "two");
    await arrived(world);
    held.resolve();
    await world.told("seen: two");
    expect(await outcomesOf(home, 2)).toEqual([{ kind: "replied" }, { kind: "steered" }]);
    expect(world.model.calls).toHaveLength(2);
    const runs = new Set(inboxOf(home).map((row) => row.session));
    expect(runs.size).toBe(1);
  });

  test("steer while a tool runs: the messages reach the model with its result, one after each call", async ({
    world,
    expect,
  }) => {
    const { home } = await world.start({
      ...mode("steer"),
      tools: { exec: { host: "gateway", security: "full", ask: "off" } },
    });
    const [began, may] = [join(home.dir, "began"), join(home.dir, "may-end")];
    const command = `touch ${began}; while [ ! -e ${may} ]; do sleep 0.05; done; echo the tool is done`;
    world.model.answer((call, number) =>
      number === 1
        ? { tool: "exec", args: { command } }
        : { text: `answer ${number} to ${/(two|three)\b(?!.*\b(two|three)\b)/s.exec(call.said)?.[1]}` },
    );
    await sayWhileBusy(world);
    await vi.waitFor(() => accessSync(began), PATIENCE);
    world.telegram.say("two");
    world.telegram.say("three");
    await arrived(world);
    writeFileSync(may, "");
    await world.told("answer 3 to three");
    expect(await outcomesOf(home, 3)).toEqual([{ kind: "replied" }, { kind: "steered" }, { kind: "steered" }]);
    const [, second, third] = world.model.calls;
    expect(second?.messages.at(-2)).toMatchObject({
      role: "tool",
      content: expect.stringContaining("the tool is done"),
    });
    expect(second?.said).toContain("two");
    expect(second?.said).not.toContain("three");
    expect(third?.said).toContain("three");
    expect(world.model.calls).toHaveLength(3);
  });

  test("steer without a tool: the message is answered all the same", async ({ world, expect }) => {
    const { home } = await world.start(mode("steer"));
    const { release } = holdFirst(world);
    await sayWhileBusy(world, "two");
    await arrived(world);
    release();
    await world.told("answer 2 to two");
    expect((await outcomesOf(home, 2)).map((outcome) => outcome?.["kind"])).not.toContain("failed");
  });

  test("a new one beyond the limit is answered with a notice that it was left out", async ({ world, expect }) => {
    const { home } = await world.start({ messages: { queue: { mode: "followup", cap: 1, drop: "new" } } });
    const { release } = holdFirst(world);
    await sayWhileBusy(world, "two", "three");
    await world.told("skipped");
    release();
    await world.told("answer 2 to two");
    const outcomes = await outcomesOf(home, 3);
    expect(outcomes.map((outcome) => outcome?.["kind"])).toEqual(["replied", "replied", "failed"]);
  });
});

describe.concurrent("words in a chat", () => {
  test("/queue holds while the agent is at work and after a kill, and the queue is answered in its order", async ({
    world,
    expect,
  }) => {
    const { gateway, home } = await world.start(mode("collect"));
    world.model.answer(() => "hang");
    await sayWhileBusy(world);
    world.telegram.say("/queue followup");
    await world.told("Queue: followup");
    for (const text of ["two", "look at three /queue collect"]) world.telegram.say(text);
    await arrived(world);
    await gateway.kill("SIGKILL");
    world.model.answer((call) => ({
      text: `answer to ${/(one|two|three)\b(?!.*\b(one|two|three)\b)/s.exec(call.said)?.[1]}`,
    }));
    await home.start();
    await world.told("answer to three");
    expect((await outcomesOf(home, 4)).map((outcome) => outcome?.["kind"])).toEqual([
      "replied",
      "command",
      "replied",
      "replied",
    ]);
    expect(world.telegram.shown(1001).filter((text) => text.startsWith("answer"))).toEqual([
      "answer to one",
      "answer to two",
      "answer to three",
    ]);
    expect(JSON.stringify(world.model.calls.at(-1)?.messages)).not.toContain("/queue");
    world.telegram.say("/queue");
    await world.told("(set here)");
  });

  test("/verbose shows the tools in the chat, /usage the cost, and /undo leaves a turn out", async ({
    world,
    expect,
  }) => {
    await world.start();
    world.model.answer((call) => (call.isAfterTool ? { text: "two files" } : { tool: "ls", args: { path: "." } }));
    world.telegram.say("/verbose full /usage full");
    await world.told("Usage: full");
    world.telegram.say("what is here?");
    await world.told("fake-1,");
    const shown = world.telegram.shown(1001).slice(1);
    expect(shown.map((text) => /^(🧭 New session: |🛠️ ls|↳ ls|two files|Usage: )/u.exec(text)?.[1])).toEqual([
      "🧭 New session: ",
      "🛠️ ls",
      "↳ ls",
      "two files",
      "Usage: ",
    ]);
    world.telegram.say("/undo");
    await world.told("left out of the conversation");
    world.telegram.say("again");
    await world.model.called(3);
    expect(JSON.stringify(world.model.calls[2]?.messages)).not.toContain("what is here?");
    world.telegram.say("/whoami");
    await world.told("Name in lists such as commands.ownerAllowFrom: telegram:");
  });
});
