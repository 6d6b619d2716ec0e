import { setTimeout as sleep } from "node:timers/promises";
import type { Parts } from "../parts.ts";
import { cleanUp } from "./cleanup.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** The first cleanup waits until the start is over. */
const FIRST_MS = 60_000;

/** Removes once a day what its retention time has passed. */
export async function keepUp(parts: Pick<Parts, "live" | "core" | "log">, signal: AbortSignal): Promise<void> {
  for (let wait = FIRST_MS; !signal.aborted; wait = DAY_MS) {
    // Only an abort ends the wait early, and the loop checks for it.
    await sleep(wait, undefined, { signal, ref: false }).catch(() => undefined);
    if (!signal.aborted) await cleanUp(parts);
  }
}
