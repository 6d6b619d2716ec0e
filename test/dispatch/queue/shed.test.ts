import fc from "fast-check";
import { expect, it } from "vitest";
import type { Run } from "../../../src/harness/run.ts";
import { RunLog } from "../../../src/harness/log/run-log.ts";
import { Lane } from "../../../src/dispatch/queue/lane.ts";
import type { LaneTask } from "../../../src/dispatch/queue/lane-task.ts";
import type { InboxRow } from "../../../src/types/journal.ts";
import { runFacts } from "../../kit/run-facts.ts";
import { nextMessage } from "../../kit/inbound.ts";

const FACTS = runFacts("run");
function laneOf(...texts: readonly string[]): Lane<Run> {
  const lane = new Lane<Run>();
  for (const [id, text] of texts.entries()) {
    const row: InboxRow = { id, message: nextMessage(text), state: "accepted", attempts: 0 };
    lane.push({
      kind: "turn",
      queued: { rows: [row], pending: [] },
      merge: true,
      ...(text === "beat" && { overCap: "first" }),
    });
  }
  return lane;
}

const textsOf = (tasks: readonly LaneTask[]) =>
  tasks.flatMap((task) => (task.kind === "turn" ? task.queued.rows.map((row) => row.message.text) : []));

it.each([
  ["old", ["one", "two", "beat"], ["beat"]],
  ["new", ["beat", "one", "two"], ["beat"]],
  ["old", ["one", "beat", "two", "three"], ["beat", "one"]],
  ["new", ["one", "beat", "two", "three"], ["beat", "three"]],
  ["old", ["one", "beat"], []],
  ["new", ["beat", "beat", "beat", "one"], ["beat", "beat"]],
  ["summarize", ["one", "beat", "two"], ["beat"]],
] as const)(
  "a turn that nobody wrote pushes no message out of a full lane, and leaves first (drop %s of %j)",
  (drop, waiting, gone) => {
    const lane = laneOf(...waiting);
    expect(textsOf(lane.shed({ cap: 2, drop }))).toEqual(gone);
    expect(lane.waiting).toBe(waiting.length - gone.length);
  },
);

const rowsIn = (task: LaneTask): readonly InboxRow[] => (task.kind === "turn" ? task.queued.rows : task.rows);

it("summarize holds every queue mode to the cap, and loses nobody's message", () => {
  const offer = fc.record({
    merge: fc.boolean(),
    isWatched: fc.boolean(),
    thread: fc.constantFrom(undefined, "t1", "t2"),
  });
  fc.assert(
    fc.property(fc.array(offer, { maxLength: 60 }), fc.integer({ min: 1, max: 8 }), (offers, cap) => {
      const lane = new Lane<Run>();
      const refused: number[] = [];
      for (const [id, { merge, isWatched, thread }] of offers.entries()) {
        const { from, ...said } = nextMessage(`message ${id}`, "1");
        const row: InboxRow = {
          id,
          message: { ...said, from: { ...from, ...(thread !== undefined && { thread }) } },
          state: "accepted",
          attempts: 0,
        };
        const log = isWatched ? { log: new RunLog(FACTS) } : {};
        lane.push({ kind: "turn", queued: { rows: [row], pending: [], ...log }, merge: merge && !isWatched });
        for (const task of lane.shed({ cap, drop: "summarize" })) refused.push(...rowsIn(task).map((one) => one.id));
        expect(lane.waiting).toBeLessThanOrEqual(cap);
      }
      const kept: number[] = [];
      for (let task = lane.take(); task; task = lane.take()) {
        const rows = rowsIn(task);
        expect(new Set(rows.map((one) => one.message.from.thread)).size).toBe(1);
        kept.push(...rows.map((one) => one.id));
      }
      expect([...kept, ...refused].toSorted((a, b) => a - b)).toEqual(offers.map((_, id) => id));
    }),
  );
});

it("500 messages that may not be merged wait as 20 turns; the oldest are listed, one line each", () => {
  const lane = new Lane<Run>();
  for (let id = 0; id < 500; id += 1) {
    const row: InboxRow = { id, message: nextMessage(`message ${id}`), state: "accepted", attempts: 0 };
    lane.push({ kind: "turn", queued: { rows: [row], pending: [] }, merge: false });
    expect(lane.shed({ cap: 20, drop: "summarize" })).toEqual([]);
  }
  expect(lane.waiting).toBe(20);
  const first = lane.take();
  expect(first?.kind === "turn" && { rows: first.queued.rows.length, brief: first.queued.brief }).toEqual({
    rows: 481,
    // The newest of them is told whole, so twenty messages are.
    brief: 480,
  });
});
