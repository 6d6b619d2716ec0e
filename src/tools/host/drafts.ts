import { randomUUID } from "node:crypto";
import { lstat, opendir, rm } from "node:fs/promises";
import type { OpenFolder } from "./open.ts";

/** The names of `draftName`. */
const DRAFT = /^\.openclaw-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\.tmp$/;
/** Age in milliseconds at which the process of a draft has ended: a draft exists for the time of one write. */
const LEFT_OVER_AFTER_MS = 10 * 60_000;
/** Most entries of a directory that are searched for drafts, so that a write into a huge directory stays fast. */
const MOST_SEARCHED = 10_000;

/** A new name for the file that `replace` writes and then renames to the target. */
export const draftName = (): string => `.openclaw-${randomUUID()}.tmp`;

/** Whether a file is a draft, by its name. Pure. */
export const isDraft = (name: string): boolean => DRAFT.test(name.toLowerCase());

/**
 * Removes the drafts that a process left in the directory because it was killed during a write: regular files of this
 * user with the name of a draft that are older than ten minutes. A draft that cannot be removed stays for the next
 * write, because it must not prevent this one. Never rejects.
 */
export async function removeLeftDrafts(folder: OpenFolder): Promise<void> {
  try {
    let searched = 0;
    for await (const { name } of await opendir(folder.base, { bufferSize: 256 })) {
      if (isDraft(name) && (await isLeftOver(folder.at(name)))) await rm(folder.at(name), { force: true });
      searched += 1;
      if (searched === MOST_SEARCHED) break;
    }
  } catch {
    // A draft that cannot be removed must not prevent the write.
  }
}

async function isLeftOver(path: string): Promise<boolean> {
  const found = await lstat(path);
  const isOwn = process.getuid === undefined || found.uid === process.getuid();
  return found.isFile() && isOwn && Date.now() - found.mtimeMs > LEFT_OVER_AFTER_MS;
}
