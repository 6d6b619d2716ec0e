import { randomFillSync } from "node:crypto";
import { rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { syncDir } from "../../store/disk.ts";
import { isMissing } from "../../utils/missing.ts";

const ID_BYTES = 8;
/** Random bytes for many ids: asking for them takes longer than making an id. */
const random = Buffer.alloc(ID_BYTES * 256);
let used = random.length;

/** 16 hex characters. */
export function newEntryId(): string {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  used += ID_BYTES;
  return random.toString("hex", used - ID_BYTES, used);
}

/** A time for a file name, without colons, which some systems refuse. */
export const stamp = (at: number): string => new Date(at).toISOString().replaceAll(":", "-");

/** Renames a file to `<file>.<why>.<time>`. Returns its new path; undefined when there was no file. Never removes a file. */
export async function setAside(
  path: string,
  why: "reset" | "deleted" | "broken",
  at: number,
): Promise<string | undefined> {
  const aside = join(dirname(path), `${basename(path)}.${why}.${stamp(at)}`);
  try {
    await rename(path, aside);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  await syncDir(dirname(path));
  return aside;
}
