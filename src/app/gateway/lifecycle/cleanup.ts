import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { pruneSandboxes } from "../../compose/sandbox/sandboxing.ts";
import { unlessMissing } from "../../../utils/missing.ts";
import type { Parts } from "../parts/parts.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Runs one cleanup by `retention`. A file that cannot be removed is reported and tried again the next day. Transcripts
 * are never touched.
 */
export async function cleanUp({ live, core, log }: Pick<Parts, "live" | "core" | "log">): Promise<void> {
  const { rowsDays, strangersDays, dedupeDays, journalMaxMb, ...files } = live.config.retention;
  const attempt = (what: string, work: () => Promise<number>) =>
    work().catch((error: unknown) => {
      log.warn("upkeep failed", { what, error });
      return 0;
    });
  const { logs: logsDir, media: mediaDir } = live.paths;
  const keep = { rowsDays, strangersDays, dedupeDays, maxBytes: journalMaxMb * MIB };
  const rows = await attempt("journal", () => core.journal.prune(keep));
  const logs = await attempt("logs", () =>
    removeFiles(logsDir, DAILY_LOG, { days: files.logsDays, maxMb: files.logsMaxMb }),
  );
  const media = await attempt("media", () =>
    removeFiles(mediaDir, /^\w/, { days: files.mediaDays, maxMb: files.mediaMaxMb }),
  );
  const sandboxes = await attempt("sandboxes", () => pruneSandboxes(live.agents, Date.now()));
  if (rows + logs + media + sandboxes > 0) log.info("cleared away", { rows, logs, media, sandboxes });
}

const MIB = 1_048_576;
const DAILY_LOG = /^openclaw-\d{4}-\d{2}-\d{2}(?:\.1)?\.log$/;

interface KeptFile {
  readonly path: string;
  readonly bytes: number;
  readonly at: number;
}

/**
 * Removes files that are too old, then the oldest until the rest fits the size. A file younger than a day may be in use
 * and stays.
 */
async function removeFiles(dir: string, names: RegExp, keep: { days: number; maxMb: number }): Promise<number> {
  const files = (await filesIn(dir, names)).toSorted((a, b) => b.at - a.at);
  const now = Date.now();
  let bytes = 0;
  let removed = 0;
  for (const file of files) {
    bytes += file.bytes;
    const age = now - file.at;
    if (age < keep.days * DAY_MS && (bytes <= keep.maxMb * MIB || age < DAY_MS)) continue;
    await rm(file.path, { force: true });
    removed += 1;
  }
  return removed;
}

/**
 * The files of a folder with these names. A missing folder has none, and a file that is removed meanwhile is left out.
 */
async function filesIn(dir: string, names: RegExp): Promise<readonly KeptFile[]> {
  const entries = (await unlessMissing(readdir(dir, { withFileTypes: true }))) ?? [];
  const paths = entries.filter((entry) => entry.isFile() && names.test(entry.name)).map(({ name }) => join(dir, name));
  const files = await Promise.all(paths.map(keptFile));
  return files.filter((file) => file !== undefined);
}

async function keptFile(path: string): Promise<KeptFile | undefined> {
  const found = await unlessMissing(stat(path));
  return found && { path, bytes: found.size, at: found.mtimeMs };
}
