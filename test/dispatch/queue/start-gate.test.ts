import { setImmediate as nextIteration } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type Passage, StartGate } from "../../../src/dispatch/queue/start-gate.ts";
import { type DispatchFixture, openDispatchFixture } from "../../kit/dispatch.ts";

let fixture: DispatchFixture;
beforeEach(async () => {
  fixture = await openDispatchFixture();
});
afterEach(() => fixture.close());

it("turns that wait for their model keep no other from beginning", async () => {
  const boot = await fixture.boot();
  const all = Promise.withResolvers<void>();
  let asked = 0;
  fixture.model.answer(async () => {
    asked += 1;
    if (asked === 20) all.resolve();
    await all.promise;
    return { text: "done" };
  });
  const answers = Array.from({ length: 20 }, (_, chat) => boot.ask("hello", String(chat)));
  for (const outcome of await Promise.all(answers)) expect(outcome).toMatchObject({ kind: "replied" });
});

it("eight turns begin at once, each further one when another has asked its model or after 40 ms", async () => {
  const due: (() => void)[] = [];
  const gate = new StartGate({ after: (_ms, call) => (due.push(call), () => undefined) });
  const begun: number[] = [];
  const leaves: (() => void)[] = [];
  const enter = async (turn: number) => {
    leaves[turn] = (await gate.enter()).waits;
    begun.push(turn);
  };
  const turns = Array.from({ length: 12 }, (_, turn) => enter(turn));
  await Promise.all(turns.slice(0, 8));
  expect(begun).toHaveLength(8);
  leaves[0]?.();
  leaves[0]?.();
  await turns[8];
  due[1]?.();
  await turns[9];
  expect(begun).toHaveLength(10);
  for (const leave of leaves) leave();
  await Promise.all(turns);
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
});

it("one iteration of the event loop begins four turns at most, also when each asks its model at once", async () => {
  const gate = new StartGate({ after: () => () => undefined });
  let iteration = 0;
  const begun: number[] = [];
  const counted = (async () => {
    while (begun.length < 10) {
      await nextIteration();
      iteration += 1;
    }
  })();
  const turns = Array.from({ length: 10 }, async () => {
    const { waits } = await gate.enter();
    begun.push(iteration);
    waits();
  });
  await Promise.all([...turns, counted]);
  for (const each of new Set(begun)) expect(begun.filter((other) => other === each).length).toBeLessThanOrEqual(4);
  expect(begun.slice(0, 4)).toEqual([0, 0, 0, 0]);
});

it("a busy event loop begins no further turn while twelve are open, until one ends or 400 ms are over", async () => {
  const gate = new StartGate({ after: () => () => undefined }, { isBusy: () => true });
  const open: Passage[] = [];
  const at: number[] = [];
  const begun = performance.now();
  const turns = Array.from({ length: 15 }, async () => {
    const passage = await gate.enter();
    at.push(performance.now() - begun);
    open.push(passage);
    // Its model takes its time.
    passage.waits();
  });
  await expect.poll(() => open.length, { interval: 1 }).toBeGreaterThanOrEqual(12);
  const ended = performance.now() - begun;
  open[0]?.ended();
  open[0]?.ended();
  await Promise.all(turns);
  expect(at[12]).toBeGreaterThanOrEqual(Math.min(ended, 400));
  expect(at[13]).toBeGreaterThanOrEqual(400);
});

it("an event loop that has time begins turns however many are open", async () => {
  const gate = new StartGate({ after: () => () => undefined }, { isBusy: () => false });
  let begun = 0;
  const turns = Array.from({ length: 500 }, async () => {
    const { waits } = await gate.enter();
    begun += 1;
    waits();
  });
  await Promise.all(turns);
  expect(begun).toBe(500);
});

it("turns that have waited for the disk go on before others begin, four in one iteration of the event loop, once each", async () => {
  const gate = new StartGate({ after: () => () => undefined }, { isBusy: () => false });
  const disk = Promise.withResolvers<void>();
  let iteration = 0;
  const went: { turn: number; at: number }[] = [];
  const turns = Array.from({ length: 10 }, async (_, turn) => {
    const passage = await gate.enter();
    passage.waits();
    await disk.promise;
    await passage.resumes();
    went.push({ turn, at: iteration });
    await passage.resumes();
    passage.ended();
  });
  for (let turn = 0; turn < 5; turn += 1) await nextIteration();
  disk.resolve();
  // All ten ask to go on before the newcomer asks to begin.
  const newcomer = (async () => {
    for (let step = 0; step < 5; step += 1) await Promise.resolve();
    await (await gate.enter()).resumes();
    went.push({ turn: 10, at: iteration });
  })();
  while (went.length < 11) {
    await nextIteration();
    iteration += 1;
  }
  await Promise.all([...turns, newcomer]);
  expect(went.map(({ turn }) => turn)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  for (const { at } of went) expect(went.filter((other) => other.at === at).length).toBeLessThanOrEqual(4);
});

it("a turn that asks twice to go on, or ends while it waits to, takes the place of no other", async () => {
  const gate = new StartGate({ after: () => () => undefined });
  const passages = await Promise.all([gate.enter(), gate.enter(), gate.enter(), gate.enter()]);
  for (const passage of passages) passage.waits();
  await nextIteration();
  const [first, second, ...others] = passages;
  await Promise.all([first?.resumes(), first?.resumes()]);
  const resuming = second?.resumes();
  second?.ended();
  await resuming;
  for (const passage of [first, ...others]) passage?.ended();
  await nextIteration();
  const begun: Passage[] = [];
  for (let turn = 0; turn < 8; turn += 1) void gate.enter().then((passage) => begun.push(passage));
  await expect.poll(() => begun.length).toBe(8);
});
