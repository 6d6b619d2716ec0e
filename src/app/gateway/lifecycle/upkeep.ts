import { wait } from "../../../utils/pause.ts";
import type { Parts } from "../parts.ts";
import { cleanUp } from "./cleanup.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** The first cleanup waits until the start is over. */
const FIRST_MS = 60_000;

/** Removes once a day what its retention time has passed. */
export async function keepUp(parts: Pick<Parts, "live" | "core" | "log">, signal: AbortSignal): Promise<void> {
  for (let ms = FIRST_MS; !signal.aborted; ms = DAY_MS) {
    await wait(ms, signal);
    if (!signal.aborted) await cleanUp(parts);
  }
}
