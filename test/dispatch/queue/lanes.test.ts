import { expect, test } from "vitest";
import type { DispatchSettings, QueuedTurn } from "../../../src/dispatch/ports.ts";
import { type LanePorts, Lanes, type TurnHandler } from "../../../src/dispatch/queue/lanes.ts";
import { turnKinds } from "../../../src/dispatch/turn-kinds/table.ts";
import { diskFull } from "../../../src/store/disk.ts";
import { systemClock } from "../../../src/types/clock.ts";
import { sessionKey } from "../../../src/types/ids.ts";
import { listen } from "../../fakes/log.ts";
import { handClock, until } from "../../outbox/stage.ts";
import { message } from "../stage.ts";

const KEY = sessionKey("telegram:default:1");
const QUEUE = { cap: 20, debounceMs: 0, drop: "old" } as const;

const turn = (id: number): QueuedTurn => ({
  rows: [{ id, message: message(`message ${id}`), state: "accepted", attempts: 0 }],
  pending: [],
});

const SETTINGS = {
  queue: QUEUE,
  maxConcurrent: 4,
  queueMode: () => "followup",
  inboundDebounceMs: () => 0,
} as Partial<DispatchSettings> as DispatchSettings;

function lanesWith(turns: Partial<TurnHandler>, given: Partial<LanePorts> = {}) {
  return new Lanes(
    { clock: systemClock, kinds: turnKinds(), log: listen(), settings: () => SETTINGS, ...given },
    {
      routeOf: (key) => key,
      run: async () => undefined,
      steer: async () => false,
      maySteer: () => false,
      onDiskFull: async () => undefined,
      refuse: async () => undefined,
      ...turns,
    },
  );
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
  const clock = handClock();
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
      async diskTakesWrites() {
        probes += 1;
        return takesWrites;
      },
    },
  );
  lanes.offer(KEY, turn(1));
  for (const count of [1, 2, 3]) {
    await until(() => clock.waits.length === 1);
    clock.pass(2000);
    await until(() => probes === count);
    expect(tries).toEqual([false]);
  }
  takesWrites = true;
  await until(() => clock.waits.length === 1);
  clock.pass(2000);
  await until(() => !lanes.isBusy(KEY));
  expect(tries).toEqual([false, true]);
});
