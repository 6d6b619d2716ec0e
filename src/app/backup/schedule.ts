import { execFile } from "node:child_process";
import { readdir, rm, stat } from "node:fs/promises";
import { setPriority } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { writeAtomic } from "../../store/disk.ts";
import type { BackupConfig } from "../../store/config.ts";
import type { Clock } from "../../types/clock.ts";
import type { Log } from "../../types/log.ts";
import { expandHome, type Env } from "../../utils/env.ts";
import { unlessMissing } from "../../utils/missing.ts";
import { pause } from "../../utils/pause.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { packageRoot } from "../package-root.ts";
import { readTextFile } from "../../store/text-file.ts";

const backupRecord = z.object({
  /** The last one that was made. Times are epoch milliseconds. */
  last: z.object({ at: z.number(), file: z.string(), bytes: z.number() }).optional(),
  /** The last try. */
  triedAt: z.number(),
  /** Why the last try made none. */
  error: z.string().optional(),
});
/** What became of the scheduled backups. */
export type BackupRecord = z.output<typeof backupRecord>;

const recordIn = (stateDir: string): string => join(stateDir, "state", "backups.json");

/** Undefined before the first try, and for a file that is damaged: the next try writes it anew. */
export async function readBackupRecord(stateDir: string): Promise<BackupRecord | undefined> {
  const text = await readTextFile(recordIn(stateDir));
  try {
    return text === undefined ? undefined : backupRecord.parse(JSON.parse(text));
  } catch {
    // A backup more is no harm.
    return undefined;
  }
}

/** After a failure the next try comes sooner. */
const RETRY_MS = 60 * 60_000;

/** When the next scheduled backup is due, in epoch milliseconds; undefined when none is scheduled. */
export function nextBackupAt({ every }: BackupConfig, record: BackupRecord | undefined): number | undefined {
  if (every === 0) return undefined;
  if (!record) return 0;
  return record.triedAt + (record.error === undefined ? every : Math.min(every, RETRY_MS));
}

/** Most milliseconds until the schedule is looked at again, which may have been changed. */
const LOOK_MS = 60_000;

interface ScheduleParts {
  readonly stateDir: string;
  readonly env: Env;
  /** The schedule in force. */
  readonly config: () => BackupConfig;
  readonly clock: Clock;
  readonly log: Log;
}

/** Makes backups as the schedule says, until the signal aborts. Each is made by a process of its own with a low priority. */
export async function keepBackups(parts: ScheduleParts, signal: AbortSignal): Promise<void> {
  const { stateDir, config, clock } = parts;
  let record = await readBackupRecord(stateDir);
  while (!signal.aborted) {
    const at = nextBackupAt(config(), record);
    const now = clock.now();
    if (at !== undefined && at <= now) {
      record = await backUp(parts, record, signal);
      if (!signal.aborted) await writeAtomic(recordIn(stateDir), JSON.stringify(record));
    } else await pause(Math.min(LOOK_MS, (at ?? Infinity) - now), { clock, signal });
  }
}

async function backUp(
  { stateDir, env, config, clock, log }: ScheduleParts,
  before: BackupRecord | undefined,
  signal: AbortSignal,
): Promise<BackupRecord> {
  const { output, keep, recipients, includeWorkspace } = config();
  const triedAt = clock.now();
  const last = before?.last && { last: before.last };
  try {
    const folder = expandHome(output, env);
    const flags = [
      `--output=${folder}/`,
      "--verify",
      "--json",
      ...recipients.flatMap((one) => ["--recipient", one]),
      ...(includeWorkspace ? [] : ["--no-include-workspace"]),
    ];
    const { archivePath: file, bytes } = made.parse(JSON.parse(await runCreate(flags, { stateDir, env, signal })));
    const removed = await removeOldest(folder, keep);
    log.info("backup made", { file, bytes, ...(removed > 0 && { removed }) });
    return { triedAt, last: { at: triedAt, file, bytes } };
  } catch (error) {
    const text = errorText(error);
    if (!signal.aborted) log.error("backup failed", { error: text, fix: "See: openclaw backup status" });
    return { triedAt, ...last, error: text };
  }
}

const made = z.looseObject({ archivePath: z.string(), bytes: z.number() });
const failed = z.looseObject({ error: z.looseObject({ message: z.string() }) });

function runCreate(
  flags: readonly string[],
  { stateDir, env, signal }: { stateDir: string; env: Env; signal: AbortSignal },
): Promise<string> {
  return new Promise((resolve, reject) => {
    const program = join(packageRoot, "bin", "openclaw.mjs");
    const options = { env: { ...env, OPENCLAW_STATE_DIR: stateDir }, signal, maxBuffer: 64 * 1024 * 1024 };
    const child = execFile(
      process.execPath,
      [program, "backup", "create", ...flags],
      options,
      (error, stdout, stderr) => {
        if (error) reject(new Error(failureIn(stdout) ?? (stderr.trim() || error.message)));
        else resolve(stdout);
      },
    );
    try {
      if (child.pid !== undefined) setPriority(child.pid, 10);
    } catch {
      // A process that has ended already, or a machine without priorities.
    }
  });
}

function failureIn(stdout: string): string | undefined {
  try {
    return failed.parse(JSON.parse(stdout)).error.message;
  } catch {
    // The process ended before it could say why; its other output does.
    return undefined;
  }
}

const OWN_NAME = /^\d{4}-\d\d-\d\dT[\d.+-]+-openclaw-backup\.tar\.gz(?:\.age)?$/;

/** The scheduled backups in a folder. Files with other names are a person's own. */
export async function backupsIn(folder: string): Promise<readonly { name: string; at: number; bytes: number }[]> {
  const names = ((await unlessMissing(readdir(folder))) ?? []).filter((name) => OWN_NAME.test(name));
  return Promise.all(
    names.map(async (name) => {
      const found = await unlessMissing(stat(join(folder, name)));
      return { name, at: found?.mtimeMs ?? 0, bytes: found?.size ?? 0 };
    }),
  );
}

/** Removes the oldest backups beyond the newest `keep`. */
async function removeOldest(folder: string, keep: number): Promise<number> {
  const files = await backupsIn(folder);
  const old = files.toSorted((one, other) => other.at - one.at).slice(keep);
  for (const { name } of old) await rm(join(folder, name), { force: true });
  return old.length;
}
