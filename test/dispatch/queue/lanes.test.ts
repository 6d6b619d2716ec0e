import { expect, test } from "vitest";
import type { QueuedTurn, TurnSlot } from "../../../src/dispatch/queue/lane-task.ts";
import { waitingOf } from "../../../src/dispatch/turn/waiting.ts";
import type { DispatchSettings } from "../../../src/dispatch/settings.ts";
import { type LanePorts, Lanes } from "../../../src/dispatch/queue/lanes.ts";
import type { TurnHandler } from "../../../src/dispatch/queue/task-runner.ts";
import { HEARTBEAT_TURN } from "../../../src/automation/heartbeat-turn.ts";
import { TURN_KINDS, turnKinds } from "../../../src/dispatch/turn-kinds.ts";
import { RunLog } from "../../../src/harness/log/run-log.ts";
import type { AbortCause, Run } from "../../../src/harness/run.ts";
import { diskFull } from "../../../src/store/disk.ts";
import { DISK_PROBE_INTERVAL_MS } from "../../../src/store/retry-while-disk-full.ts";
import { systemClock } from "../../../src/types/clock.ts";
import { agentId, runId, sessionKey } from "../../../src/types/ids.ts";
import { recordLog } from "../../kit/log.ts";
import { manualClock } from "../../kit/clock.ts";
import { untilIdle } from "../../kit/idle.ts";
import { until } from "../../kit/until.ts";
import { nextMessage } from "../../kit/inbound.ts";

const KEY = sessionKey("telegram:default:1");
const QUEUE = { cap: 20, debounceMs: 0, drop: "old" } as const;

const turn = (id: number): QueuedTurn => ({
  rows: [{ id, message: nextMessage(`message ${id}`), state: "accepted", attempts: 0 }],
  pending: [],
});

const SETTINGS = {
  queue: QUEUE,
  stuck: { warnMs: 120_000, endMs: 600_000 },
  maxConcurrent: 4,
  queueMode: () => "followup",
  inboundDebounceMs: () => 0,
} as Partial<DispatchSettings> as DispatchSettings;

function lanesWith(turns: Partial<TurnHandler<Run>>, given: Partial<LanePorts> = {}) {
  const ports = {
    clock: systemClock,
    disk: { diskTakesWrites: async () => true },
    kinds: turnKinds(),
    log: recordLog(),
    settings: () => SETTINGS,
    ...given,
  };
  return new Lanes<Run>(ports, {
    waitingOf: (key, queued) => waitingOf(key, queued, { ...ports, storage: { sessions: { peek: () => undefined } } }),
    routeOf: (key) => key,
    run: async () => undefined,
    steer: async () => false,
    maySteer: () => false,
    mayInterrupt: () => true,
    onDiskFull: async () => undefined,
    refuse: async () => undefined,
    ...turns,
  });
}

test("a lane is free for the next message however a turn ends", async () => {
  const ran: number[] = [];
  const lanes = lanesWith({
    async run(_key, { rows }) {
      ran.push(rows[0]?.id ?? 0);
      if (rows[0]?.id === 1) throw diskFull("/state", new Error("ENOSPC"));
      if (rows[0]?.id === 2) throw new Error("bug");
    },
    onDiskFull: () => Promise.reject(new Error("403: bot was blocked by the user")),
    refuse: () => Promise.reject(new Error("the journal is closed")),
  });
  for (const id of [1, 2, 3]) lanes.offer(KEY, turn(id));
  await until(() => ran.includes(3));
  await until(() => !lanes.isBusy(KEY));
  expect(ran).toEqual([1, 2, 3]);
});

test("a turn that met a full disk is tried again when a probe could be written, and not before", async () => {
  const clock = manualClock();
  const tries: boolean[] = [];
  let takesWrites = false;
  let probes = 0;
  const lanes = lanesWith(
    {
      async run(_key, { isReplay }) {
        tries.push(isReplay === true);
        if (tries.length === 1) throw diskFull("/state", new Error("ENOSPC"));
      },
    },
    {
      clock,
      disk: {
        async diskTakesWrites() {
          probes += 1;
          return takesWrites;
        },
      },
    },
  );
  lanes.offer(KEY, turn(1));
  for (const count of [1, 2, 3]) {
    await until(() => clock.waits.includes(DISK_PROBE_INTERVAL_MS));
    clock.pass(DISK_PROBE_INTERVAL_MS);
    await until(() => probes === count);
    expect(tries).toEqual([false]);
  }
  takesWrites = true;
  await until(() => clock.waits.includes(DISK_PROBE_INTERVAL_MS));
  clock.pass(2000);
  await until(() => !lanes.isBusy(KEY));
  expect(tries).toEqual([false, true]);
});

const FACTS = { sessionKey: KEY, sessionId: "s", agentId: agentId("main"), trigger: "message" as const };

/** A run of the model as a lane sees it, and by what it was aborted. */
function runOf(id: number) {
  const aborted: AbortCause[] = [];
  const stream = new RunLog({ ...FACTS, runId: runId(`run-${id}`) });
  const run = { stream, abort: (by: AbortCause) => void aborted.push(by) } as Partial<Run> as Run;
  return { run, aborted };
}

/** Turns that go on until they are told to end. */
function heldTurns() {
  const begun: { readonly ids: readonly number[]; readonly slot: TurnSlot<Run>; end(): void }[] = [];
  const refused: number[] = [];
  const handler: Partial<TurnHandler<Run>> = {
    run(_key, { rows }, slot) {
      const held = Promise.withResolvers<void>();
      begun.push({ ids: rows.map(({ id }) => id), slot, end: held.resolve });
      return held.promise;
    },
    async refuse(task) {
      if (task.kind === "turn") refused.push(...task.queued.rows.map(({ id }) => id));
    },
  };
  const order = () => begun.map(({ ids }) => ids);
  /** Resolves when that many turns have begun; the last of them. */
  const turns = async (count: number) => {
    await until(() => begun.length === count, `turn ${count}`);
    return begun.at(-1)!;
  };
  return { handler, refused, order, turns };
}

const collect = { settings: () => ({ ...SETTINGS, queueMode: () => "collect" as const }) };

test("a turn that was stopped while it was prepared ends its run when that begins, and the next one continues", async () => {
  const { handler, turns } = heldTurns();
  const lanes = lanesWith(handler);
  for (const id of [1, 2]) lanes.offer(KEY, turn(id));
  const first = await turns(1);
  expect(await lanes.drop(1)).toBe("stopped");
  expect(first.slot.stopping.aborted).toBe(true);
  const early = runOf(1);
  first.slot.begin(early.run);
  expect(early.aborted).toEqual(["user"]);
  first.end();
  const second = await turns(2);
  expect(second.slot.stopping.aborted).toBe(false);
  const next = runOf(2);
  second.slot.begin(next.run);
  expect(next.aborted).toEqual([]);
  expect(await lanes.drop(2)).toBe("stopped");
  expect(next.aborted).toEqual(["user"]);
  second.end();
  await until(() => !lanes.isBusy(KEY));
});

test("a turn that a command made goes before everything that waits", async () => {
  const { handler, turns, order } = heldTurns();
  const lanes = lanesWith(handler);
  lanes.offer(KEY, turn(1));
  await turns(1);
  for (const id of [2, 3]) lanes.offer(KEY, turn(id));
  lanes.enterFirst(KEY, turn(4));
  for (const count of [1, 2, 3, 4]) (await turns(count)).end();
  expect(order()).toEqual([[1], [4], [2], [3]]);
});

test("the end of one message stops neither a turn nor a waiting turn that has others in it", async () => {
  const { handler, turns, order, refused } = heldTurns();
  const lanes = lanesWith(handler, collect);
  lanes.offer(KEY, turn(1));
  const first = await turns(1);
  for (const id of [2, 3]) lanes.offer(KEY, turn(id));
  expect(await lanes.drop(9)).toBe("idle");
  first.end();
  const merged = await turns(2);
  const both = runOf(2);
  merged.slot.begin(both.run);
  expect(await lanes.drop(2)).toBe("continues");
  expect([both.aborted, merged.slot.stopping.aborted, refused]).toEqual([[], false, []]);
  lanes.offer(KEY, turn(4));
  expect(await lanes.drop(4)).toBe("waiting");
  expect(refused).toEqual([4]);
  merged.end();
  await until(() => !lanes.isBusy(KEY));
  expect(order()).toEqual([[1], [2, 3]]);
});

test("closing begins no further turn, aborts after its time what still runs, and waits two seconds more", async () => {
  const clock = manualClock();
  const { handler, turns, order } = heldTurns();
  const lanes = lanesWith(handler, { clock });
  for (const id of [1, 2]) lanes.offer(KEY, turn(id));
  const first = await turns(1);
  const running = runOf(1);
  first.slot.begin(running.run);
  let isClosed = false;
  const closed = lanes.close(5000).then(() => (isClosed = true));
  clock.pass(4999);
  expect(running.aborted).toEqual([]);
  clock.pass(1);
  expect(running.aborted).toEqual(["shutdown"]);
  clock.pass(1999);
  await Promise.resolve();
  expect(isClosed).toBe(false);
  clock.pass(1);
  await closed;
  first.end();
  await until(() => !lanes.isBusy(KEY));
  expect(order()).toEqual([[1]]);
});

test("closing waits for no time once the last run has ended", async () => {
  const clock = manualClock();
  const { handler, turns } = heldTurns();
  const lanes = lanesWith(handler, { clock });
  lanes.offer(KEY, turn(1));
  const only = await turns(1);
  const closed = lanes.close(5000);
  only.end();
  await closed;
  expect(clock.waits).toEqual([]);
});

test("a burst becomes one turn when no further message came for the debounce", async () => {
  const clock = manualClock();
  const { handler, turns, order } = heldTurns();
  const settings = { ...SETTINGS, queueMode: () => "collect" as const, queue: { ...QUEUE, debounceMs: 100 } };
  const lanes = lanesWith(handler, { clock, settings: () => settings });
  lanes.offer(KEY, turn(1));
  const first = await turns(1);
  lanes.offer(KEY, turn(2));
  clock.pass(10);
  first.end();
  await until(() => clock.waits.includes(90));
  clock.pass(60);
  lanes.offer(KEY, turn(3));
  clock.pass(30);
  await until(() => clock.waits.includes(70));
  clock.pass(50);
  lanes.offer(KEY, turn(4));
  clock.pass(20);
  await until(() => clock.waits.includes(80));
  expect(order()).toEqual([[1]]);
  clock.pass(80);
  (await turns(2)).end();
  expect(order()).toEqual([[1], [2, 3, 4]]);
});

test("a message that waited for longer than the debounce begins as soon as the turn before it has ended", async () => {
  const clock = manualClock();
  const { handler, turns, order } = heldTurns();
  const lanes = lanesWith(handler, { clock, settings: () => ({ ...SETTINGS, queue: { ...QUEUE, debounceMs: 100 } }) });
  lanes.offer(KEY, turn(1));
  const first = await turns(1);
  lanes.offer(KEY, turn(2));
  lanes.offer(KEY, turn(3));
  clock.pass(100);
  first.end();
  (await turns(2)).end();
  (await turns(3)).end();
  expect(order()).toEqual([[1], [2], [3]]);
});

test("what a person writes within the inbound debounce becomes one turn, also where each message has its own turn", async () => {
  const clock = manualClock();
  const { handler, turns, order } = heldTurns();
  const lanes = lanesWith(handler, { clock, settings: () => ({ ...SETTINGS, inboundDebounceMs: () => 100 }) });
  const ofAnother = { ...nextMessage("message 3"), sender: { id: "2" } };
  lanes.offer(KEY, turn(1));
  lanes.offer(KEY, turn(2));
  lanes.offer(KEY, { rows: [{ id: 3, message: ofAnother, state: "accepted", attempts: 0 }], pending: [] });
  await until(() => clock.waits.includes(100));
  clock.pass(100);
  const first = await turns(1);
  lanes.offer(KEY, turn(4));
  first.end();
  (await turns(2)).end();
  (await turns(3)).end();
  expect(order()).toEqual([[1, 2], [3], [4]]);
});

test("what begins a new conversation does not wait until no further message comes", async () => {
  const clock = manualClock();
  const { handler, turns, order } = heldTurns();
  const settings = { ...SETTINGS, inboundDebounceMs: () => 100, queue: { ...QUEUE, debounceMs: 70 } };
  const lanes = lanesWith(handler, { clock, settings: () => settings });
  let resets = 0;
  const reset = () => lanes.occupy(KEY, { kind: "work", rows: [], work: async () => void (resets += 1) }, "reset");
  lanes.offer(KEY, turn(1));
  await until(() => clock.waits.includes(100));
  reset();
  await until(() => resets === 1);
  expect(order()).toEqual([]);
  await until(() => clock.waits.includes(70));
  clock.pass(70);
  const first = await turns(1);
  lanes.offer(KEY, turn(2));
  first.end();
  await until(() => clock.waits.includes(70));
  reset();
  await until(() => resets === 2);
  expect(order()).toEqual([[1]]);
});

test("runs that nobody waits for have slots of their own, so that neither they nor people delay the other", async () => {
  const { handler, turns, order } = heldTurns();
  const kinds = turnKinds([...TURN_KINDS, HEARTBEAT_TURN]);
  const lanes = lanesWith(handler, { kinds, settings: () => ({ ...SETTINGS, maxConcurrent: 1 }) });
  const heartbeat = (id: number): QueuedTurn => ({
    rows: [{ id, message: nextMessage("", "1", { options: { kind: "heartbeat" } }), state: "accepted", attempts: 0 }],
    pending: [],
  });
  const chat = (id: number) => sessionKey(`telegram:default:${id}`);
  for (const id of [1, 2, 3, 4, 5]) lanes.offer(chat(id), heartbeat(id));
  await turns(4);
  lanes.offer(chat(6), turn(6));
  const person = await turns(5);
  lanes.offer(chat(7), turn(7));
  await untilIdle();
  expect(order()).toHaveLength(5);
  person.end();
  await turns(6);
  expect(order()).toEqual([[1], [2], [3], [4], [6], [7]]);
});
