import { setImmediate, setTimeout as pause } from "node:timers/promises";

/** So many turns of the event loop are looked at one by one. */
const CLOSE_TURNS = 20;
const PAUSE_MS = 2;
/** For `vi.waitFor` and `vi.waitUntil`, which by themselves wait for one second. */
export const PATIENCE = { timeout: 20_000 };

/** Checks a condition again and again until it holds. Rejects after `ms` milliseconds, with `what` in the message. */
export async function until(holds: () => unknown, what = "this", ms = 20_000): Promise<void> {
  const end = Date.now() + ms;
  for (let turn = 1; ; turn += 1) {
    const begun = performance.now();
    if (await holds()) return;
    if (Date.now() > end) throw new Error(`waited ${ms} ms for ${what}`);
    // A longer wait leaves most of the processor to what is waited for, also when looking takes long.
    const looked = performance.now() - begun;
    await (turn <= CLOSE_TURNS ? setImmediate() : pause(Math.max(PAUSE_MS, looked * 3)));
  }
}
