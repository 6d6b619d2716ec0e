import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Parts } from "./parts.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** The first one waits until the start is long over. */
const FIRST_MS = 60_000;
/** Days that finished messages, log files and received files are kept. Transcripts are never touched. */
export const KEPT_DAYS = { journal: 30, logs: 30, media: 90 } as const;

/** Clears away, once a day, what nobody will ask for any more. */
export async function keepUp(parts: Pick<Parts, "live" | "core" | "log">, signal: AbortSignal): Promise<void> {
  for (let wait = FIRST_MS; !signal.aborted; wait = DAY_MS) {
    // Only the abort ends a wait early, and the loop looks at it.
    await sleep(wait, undefined, { signal, ref: false }).catch(() => undefined);
    if (!signal.aborted) await clearAway(parts);
  }
}

/** One round. What cannot be removed is told and tried again the next day. */
export async function clearAway({ live, core, log }: Pick<Parts, "live" | "core" | "log">): Promise<void> {
  try {
    const rows = await core.journal.prune({ rowsDays: KEPT_DAYS.journal });
    const logs = await removeOld(live.paths.logs, KEPT_DAYS.logs, /^openclaw-\d{4}-\d{2}-\d{2}\.log$/);
    const media = await removeOld(live.paths.media, KEPT_DAYS.media, /^\w/);
    if (rows + logs + media > 0) log.info("cleared away", { rows, logs, media });
  } catch (error) {
    log.warn("upkeep failed", { error });
  }
}

/** Removes files of a folder by their age; a folder that is not there has none. */
async function removeOld(dir: string, days: number, names: RegExp): Promise<number> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
  let removed = 0;
  for (const entry of entries) {
    if (!entry.isFile() || !names.test(entry.name)) continue;
    const path = join(dir, entry.name);
    if (Date.now() - (await stat(path)).mtimeMs < days * DAY_MS) continue;
    await rm(path, { force: true });
    removed += 1;
  }
  return removed;
}
