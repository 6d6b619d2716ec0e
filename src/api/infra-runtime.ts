/** `openclaw/plugin-sdk/infra-runtime`. */
import { lstatSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

export { runFfmpeg, runFfprobe } from "./parts/media-runtime.ts";
export type { MediaProgramOptions } from "./parts/media-runtime.ts";

/** The folder for temporary files of the gateway and its plugins. It is made, private to the user (0700). */
export function resolvePreferredOpenClawTmpDir(): string {
  const dir = join(tmpdir(), `openclaw-${process.getuid?.() ?? "user"}`);
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    if (isOwn(dir)) return dir;
  } catch {
    // Somebody else has a file of that name.
  }
  return mkdtempSync(join(tmpdir(), "openclaw-"));
}

/** Whether nobody else can put files into a directory or replace it by a link. */
function isOwn(dir: string): boolean {
  const found = lstatSync(dir);
  const uid = process.getuid?.();
  return found.isDirectory() && (uid === undefined || (found.uid === uid && (found.mode & 0o022) === 0));
}

export interface FileLockOptions {
  /** Waits between attempts in milliseconds, each `factor` times the wait before. */
  readonly retries?:
    | number
    | {
        readonly retries?: number;
        readonly factor?: number;
        readonly minTimeout?: number;
        readonly maxTimeout?: number;
      };
  /** Milliseconds after which the lock of a process that ended counts as released; 10 s when unset. */
  readonly stale?: number;
}

/** Runs `work` while this process holds the lock of a file, which other processes respect. Rejects when it gets no lock. */
export async function withFileLock<T>(path: string, options: FileLockOptions, work: () => Promise<T>): Promise<T> {
  const { lock } = await import("proper-lockfile");
  const { retries = 0, stale = 10_000 } = options;
  const release = await lock(path, { retries, stale, realpath: false });
  try {
    return await work();
  } finally {
    await release();
  }
}
