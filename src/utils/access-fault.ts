import type { Stats } from "node:fs";
import { access, constants, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { errorCode, isMissing } from "./missing.ts";

/** Why this user may not use a file or a directory. */
export interface AccessFault {
  readonly path: string;
  /** Completes "…, because". */
  readonly why: string;
  /** The step that a person should take, as a sentence. */
  readonly fix: string;
  /** The mode that would let this user in; undefined when another user or the file system decides. */
  readonly mode?: number;
}

const WANTED = {
  read: constants.R_OK,
  write: constants.R_OK | constants.W_OK,
  /** A directory whose files are read, made and removed. */
  fill: constants.R_OK | constants.W_OK | constants.X_OK,
} as const;

/** Why this user may not do that with an existing path; undefined when they may, or when nothing is there. Never rejects. */
export async function accessFault(path: string, wanted: keyof typeof WANTED): Promise<AccessFault | undefined> {
  try {
    await access(path, WANTED[wanted]);
    return undefined;
  } catch (error) {
    return isMissing(error) ? undefined : faultOf(error, path);
  }
}

const DENIED = new Set(["EACCES", "EPERM", "EROFS"]);

/** Cause of a refusal of the file system; undefined for other errors. `path`: that of the error when unset. */
export async function faultOf(
  error: unknown,
  path: string | undefined = pathOf(error),
): Promise<AccessFault | undefined> {
  const code = errorCode(error);
  if (code === undefined || !DENIED.has(code) || path === undefined) return undefined;
  if (code === "EROFS")
    return { path, why: "its file system takes no writes", fix: "Mount it for writing, and see why it is not." };
  const closed = await closedAt(path);
  const facts = await stat(closed);
  const mode = facts.mode & 0o777;
  if (facts.uid !== process.getuid?.())
    return {
      path,
      why: `${closed} belongs to another user (uid ${facts.uid}, mode ${mode.toString(8)})`,
      fix: `Run: sudo chown -R "$(id -un)" ${closed}`,
    };
  const open = mode | openMode(facts);
  if (open === mode)
    return {
      path,
      why: `the system refuses it (${code})`,
      fix: `See its attributes and its file system: ls -ld ${closed}`,
    };
  return {
    path,
    why: `${closed} has the mode ${mode.toString(8)}`,
    fix: `Run: chmod ${open.toString(8)} ${closed}`,
    ...(closed === path && { mode: open }),
  };
}

export function pathOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("path" in error)) return undefined;
  return typeof error.path === "string" ? error.path : undefined;
}

const isOpenToMe = (facts: Stats): boolean =>
  facts.uid === process.getuid?.() && (facts.mode & openMode(facts)) === openMode(facts);

/** The mode of a file or directory whose owner may do everything with it. */
const openMode = (facts: Stats): number => (facts.isDirectory() ? 0o700 : 0o600);

/**
 * The path, or the first directory above it that this user may look at. A file that is open to them has a directory that lets nobody
 * remove or replace it.
 */
async function closedAt(path: string): Promise<string> {
  const facts = await stat(path).catch(() => undefined);
  const above = dirname(path);
  if (above === path) return path;
  if (!facts) return closedAt(above);
  return isOpenToMe(facts) && !isOpenToMe(await stat(above)) ? above : path;
}
