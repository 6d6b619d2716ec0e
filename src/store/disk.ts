import { randomBytes } from "node:crypto";
import { chmod, open, readdir, rename, rm, unlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { OpenClawError } from "../types/errors.ts";
import { errorText } from "../utils/text/error-text.ts";
import { makeDirectory } from "./make-directory.ts";
import { errorCode, unlessMissing } from "../utils/missing.ts";

const FULL = new Set(["ENOSPC", "EDQUOT"]);

/** A failed write as an error for the operator. An `OpenClawError` is returned unchanged. */
export function diskError(error: unknown, path: string): OpenClawError {
  if (error instanceof OpenClawError) return error;
  if (FULL.has(errorCode(error) ?? "")) return diskFull(path, error);
  return new OpenClawError("DISK_WRITE", {
    message: `Could not write ${path}: ${errorText(error)}.`,
    fix: ["EISDIR", "ENOTDIR"].includes(errorCode(error) ?? "")
      ? "A directory is where a file belongs, or a file where a directory belongs: move it away."
      : "Check that the disk is healthy and mounted writable, and that the directory belongs to this user.",
    cause: error,
  });
}

/** The error as DISK_FULL when it, or what caused it, is that the disk is full; else unchanged. */
export function fullDiskOr(error: unknown, path: string): unknown {
  for (let at = error; at instanceof Error; at = at.cause)
    if (FULL.has(errorCode(at) ?? "")) return diskFull(path, error);
  return error;
}

/** Whether the error is DISK_FULL or DISK_WRITE: the same write may succeed when there is space. */
export const isDiskError = (error: unknown): error is OpenClawError =>
  error instanceof OpenClawError && error.code.startsWith("DISK_");

export function diskFull(path: string, cause: unknown): OpenClawError {
  return new OpenClawError("DISK_FULL", {
    message: `No space left on the disk of ${path}.`,
    fix: "Free some space. A running gateway then continues by itself; one that could not start has to be started again.",
    cause,
  });
}

/**
 * A failed sync of the journal, after which the process has to end: the kernel may have dropped the data that it could
 * not write.
 */
export function syncFailed(error: unknown, path: string): OpenClawError {
  const { code } = diskError(error, path);
  const mend = code === "DISK_FULL" ? "Free some space" : "Check that the disk is healthy and mounted writable";
  return new OpenClawError(code, {
    message: `Could not sync ${path} (${errorText(error)}), so the disk may lack what was written last.`,
    fix: `${mend}. The gateway ends now; after its next start it takes up every message that the disk has.`,
    cause: error,
  });
}

/** Makes a directory that only its owner may enter. An existing one keeps its mode. */
export async function makePrivateDir(dir: string): Promise<void> {
  await makeDirectory(dir);
}

/** What a file gets: all at once, or in pieces while it is written. */
type Content = string | Uint8Array | AsyncIterable<Uint8Array>;

/**
 * Replaces a file in one step, mode 0600: a reader sees the old or the new content, also after a power cut.
 * `mayReplace` is asked when all is written but the name: on its false the old file stays, and the answer is false.
 * Throws `OpenClawError` DISK_FULL or DISK_WRITE; the old file then stays.
 */
export async function writeAtomic(
  path: string,
  content: Content,
  mayReplace: () => Promise<boolean> = () => Promise.resolve(true),
): Promise<boolean> {
  const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    await writeSynced(temporary, content);
    if (!(await mayReplace())) {
      await rm(temporary, { force: true });
      return false;
    }
    await rename(temporary, path);
    await syncDir(dirname(path));
    return true;
  } catch (error) {
    await rm(temporary, { force: true });
    throw diskError(error, path);
  }
}

/**
 * Replaces a file in one step, mode 0600. A power cut may lose or damage it: for a file that counts only while its process runs. Throws
 * as `writeAtomic` does.
 */
export async function writeUnsynced(path: string, content: string): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    await writeFile(temporary, content, { flag: "wx", mode: 0o600 });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw diskError(error, path);
  }
}

/** Removes what interrupted writes of this file left beside it. The caller holds the file's lock. */
export async function removeUnfinished(path: string): Promise<void> {
  const prefix = `${basename(path)}.`;
  const names = (await unlessMissing(readdir(dirname(path)))) ?? [];
  const left = names.filter((name) => name.startsWith(prefix) && /^[0-9a-f]{12}\.tmp$/.test(name.slice(prefix.length)));
  for (const name of left) await rm(join(dirname(path), name), { force: true });
}

/** Removes what interrupted writes of any file left in a directory. The caller owns the directory. */
export async function removeAllUnfinished(dir: string): Promise<void> {
  const names = (await unlessMissing(readdir(dir))) ?? [];
  for (const name of names) if (/\.[0-9a-f]{12}\.tmp$/.test(name)) await rm(join(dir, name), { force: true });
}

/** A probe's file is named `.probe.<12 hex digits>.tmp`. The temporary file of an unfinished write has the same form of name. */
const PROBE = ".probe";
/** Bytes of a probe: about as many as a turn writes before its first model call. */
const PROBE_BYTES = 256 * 1024;

/** Whether a file of 256 KiB can be written and synced in this directory now. Never rejects. */
export const diskTakesWrites = async (dir: string): Promise<boolean> => (await probeDisk(dir)) === undefined;

/** Why a file of 256 KiB cannot be written, synced and removed in this directory now; undefined when it can. Never rejects. */
export async function probeDisk(dir: string): Promise<OpenClawError | undefined> {
  try {
    await writeAndRemove(join(dir, `${PROBE}.${randomBytes(6).toString("hex")}.tmp`), Buffer.alloc(PROBE_BYTES));
    return undefined;
  } catch (error) {
    return diskError(error, dir);
  }
}

/** Removes the files of probes during which a process was killed. The caller owns the directory. */
export const removeLeftProbes = (dir: string): Promise<void> => removeUnfinished(join(dir, PROBE));

async function writeAndRemove(path: string, content: Uint8Array): Promise<void> {
  try {
    await writeSynced(path, content);
  } finally {
    // `rm` would say of a file that may not be removed that it is no directory.
    await unlessMissing(unlink(path));
  }
}

async function writeSynced(path: string, content: Content): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes names in a directory durable. Does nothing where directories cannot be synced (Windows). */
export async function syncDir(dir: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(dir, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Sets a mode. Does nothing on Windows, which has no modes. */
export async function setMode(path: string, mode: number): Promise<void> {
  if (process.platform !== "win32") await chmod(path, mode);
}
