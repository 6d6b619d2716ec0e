import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import type { QueuedTurn, TurnSlot } from "../../../src/dispatch/queue/lane-task.ts";
import { waitingOf } from "../../../src/dispatch/turn/waiting.ts";
import { Lanes } from "../../../src/dispatch/queue/lanes.ts";
import type { TurnHandler } from "../../../src/dispatch/queue/task-runner.ts";
import type { DispatchSettings } from "../../../src/dispatch/settings.ts";
import { turnKinds } from "../../../src/dispatch/turn-kinds.ts";
import { RunLog } from "../../../src/harness/log/run-log.ts";
import type { Run } from "../../../src/harness/run.ts";
import { agentId, runId, sessionKey } from "../../../src/types/ids.ts";
import type { Approval } from "../../../src/types/run/tool.ts";
import { manualClock } from "../../kit/clock.ts";
import { nextMessage } from "../../kit/inbound.ts";
import { recordLog } from "../../kit/log.ts";
import { until } from "../../kit/until.ts";

const KEY = sessionKey("telegram:default:1");
const WARN_MS = 60_000;
const END_MS = 120_000;

const turn = (id: number): QueuedTurn => ({
  rows: [{ id, message: nextMessage(`message ${id}`), state: "accepted", attempts: 0 }],
  pending: [],
});

/** A lane whose first turn does what the test says, and whose later turns end at once. */
function stuckLane(first: (slot: TurnSlot<Run>) => Promise<void>) {
  const clock = manualClock();
  const log = recordLog();
  const ran: number[] = [];
  const refused: number[] = [];
  const turns: Partial<TurnHandler<Run>> = {
    routeOf: (key) => key,
    async run(_key, { rows: [row] }, slot) {
      ran.push(row?.id ?? 0);
      if (ran.length === 1) await first(slot);
    },
    maySteer: () => false,
    mayInterrupt: () => true,
    async refuse(task) {
      if (task.kind === "turn") refused.push(...task.queued.rows.map(({ id }) => id));
    },
  };
  const settings = {
    queue: { cap: 20, debounceMs: 0, drop: "old" },
    maxConcurrent: 1,
    queueMode: () => "followup",
    inboundDebounceMs: () => 0,
    stuck: { warnMs: WARN_MS, endMs: END_MS },
  } as Partial<DispatchSettings> as DispatchSettings;
  const ports = {
    clock,
    disk: { diskTakesWrites: async () => true },
    log,
    kinds: turnKinds(),
    storage: { sessions: { peek: () => undefined } },
    settings: () => settings,
  };
  turns.waitingOf = (key, queued) => waitingOf(key, queued, ports);
  const lanes = new Lanes(ports, turns as TurnHandler<Run>);
  for (const id of [1, 2]) lanes.offer(KEY, turn(id));
  /** Lets the time pass in steps, as the watch looks. */
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 5000) {
      clock.pass(5000);
      await setImmediate();
    }
  };
  const said = () =>
    log.lines
      .filter((line) => /stuck|progress/.test(line))
      .map((line) => PHRASES.find((phrase) => line.includes(phrase)));
  return { lanes, clock, ran, refused, pass, said, log };
}

const PHRASES = [
  "session makes no progress",
  "stuck turn is ended",
  "stuck turn did not end: its session goes on without it",
];

const never = () => new Promise<void>(() => undefined);

/** A run of the model as a lane sees it. */
function runWith(abort: () => void = () => undefined): Run & { stream: RunLog } {
  const facts = { sessionKey: KEY, sessionId: "s", agentId: agentId("main"), trigger: "message" as const };
  const stream = new RunLog({ ...facts, runId: runId("run-1") });
  return { stream, abort } as Partial<Run> as Run & { stream: RunLog };
}

test("a turn whose preparation never ends is reported, ended, and left behind; the next message is answered", async () => {
  const stuck = stuckLane(async (slot) => {
    slot.at("prepare");
    await never();
  });
  await until(() => stuck.ran.length === 1);
  await stuck.pass(WARN_MS + 30_000);
  expect(stuck.said()).toEqual(["session makes no progress"]);
  expect(stuck.lanes.still()).toMatchObject([{ session: KEY, doing: "the stage prepare" }]);
  await stuck.pass(END_MS + 60_000);
  await until(() => !stuck.lanes.isBusy(KEY));
  expect(stuck.ran).toEqual([1, 2]);
  expect(stuck.refused).toEqual([1]);
  expect(stuck.said()).toEqual([
    "session makes no progress",
    "stuck turn is ended",
    "stuck turn did not end: its session goes on without it",
  ]);
  expect(stuck.lanes.still()).toEqual([]);
});

test("a turn that ends when it is told to is not left behind", async () => {
  const stuck = stuckLane(async (slot) => {
    slot.at("prepare");
    await new Promise<void>((resolve) => {
      slot.stopping.addEventListener("abort", () => resolve());
    });
  });
  await until(() => stuck.ran.length === 1);
  await stuck.pass(END_MS + 60_000);
  await until(() => stuck.ran.length === 2);
  expect(stuck.refused).toEqual([]);
});

test("what a turn does after its lane went on ends its run at once and begins no stage", async () => {
  const late = Promise.withResolvers<void>();
  const aborted: string[] = [];
  let slotOfFirst: TurnSlot<Run> | undefined;
  const stuck = stuckLane(async (slot) => {
    slotOfFirst = slot;
    slot.at("claim");
    await late.promise;
    slot.begin(runWith(() => void aborted.push("first")));
  });
  await until(() => stuck.ran.length === 1);
  await stuck.pass(END_MS + 90_000);
  await until(() => stuck.ran.length === 2);
  late.resolve();
  await until(() => aborted.length > 0);
  expect(slotOfFirst?.isReleased).toBe(true);
});

test.each([
  ["a question to a person", [{ type: "approval_request", approval: { id: "a" } as Approval }]],
  ["a running tool", [{ type: "tool_start", callId: "c", name: "exec", args: {} }]],
  ["a model call", [{ type: "message_start" }]],
] as const)("a run that waits for %s is not ended: that has a limit of its own", async (_what, events) => {
  let aborts = 0;
  const run = runWith(() => (aborts += 1));
  const stuck = stuckLane(async (slot) => {
    slot.at("answer");
    slot.begin(run);
    for (const event of events) run.stream.emit(event);
    await never();
  });
  await until(() => stuck.ran.length === 1);
  await stuck.pass(END_MS * 5);
  expect(aborts).toBe(0);
  expect(stuck.ran).toEqual([1]);
});

test("a run that gives events is never stuck", async () => {
  let aborts = 0;
  const run = runWith(() => (aborts += 1));
  const stuck = stuckLane(async (slot) => {
    slot.at("answer");
    slot.begin(run);
    await never();
  });
  await until(() => stuck.ran.length === 1);
  for (let n = 0; n < 20; n += 1) {
    run.stream.emit({ type: "notice", because: "keys", text: `${n}` });
    await stuck.pass(WARN_MS / 2);
  }
  expect([aborts, stuck.said()]).toEqual([0, []]);
});

test("a command that goes on for long is reported, and not ended: what it does has a limit of its own", async () => {
  const { lanes, pass, said, refused } = stuckLane(async () => undefined);
  await until(() => !lanes.isBusy(KEY));
  let aborts = 0;
  lanes.occupy(KEY, { kind: "work", rows: [], work: never, abort: () => (aborts += 1) }, "lane");
  await pass(END_MS * 3);
  expect(lanes.still()).toMatchObject([{ session: KEY, doing: "a command" }]);
  expect([said(), aborts, refused]).toEqual([["session makes no progress"], 0, []]);
});

test("after /stop a turn that does not end is left behind within a minute", async () => {
  const stuck = stuckLane(async (slot) => {
    slot.at("prepare");
    await never();
  });
  await until(() => stuck.ran.length === 1);
  await stuck.pass(30_000);
  expect(await stuck.lanes.drop(1)).toBe("stopped");
  await stuck.pass(60_000);
  await until(() => stuck.ran.length === 2);
});
