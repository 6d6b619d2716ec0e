import { type Stats, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { BoundedMap } from "../utils/bounded-map.ts";

/**
 * When and how a file was last changed; undefined when there is none. Throws the system's other errors. Synchronous, because each
 * message looks at some twenty files: an asynchronous `stat` passes through another thread, which takes ten times as much
 * processor time as the call itself.
 */
export const stampOf = (path: string): Stats | undefined => statSync(path, { throwIfNoEntry: false });

interface List {
  readonly mtimeMs: number;
  readonly ino: number;
  readonly names: readonly string[];
}

const MOST_LISTS = 200;
const lists = new BoundedMap<string, List>(MOST_LISTS);
/** The clock of a file system may advance in steps as large as this: a directory that was changed just now is read again. */
const STEP_MS = 2000;

/** The names in a directory, which is read again only after a change. Undefined when it is missing. Rejects with the system's other errors. */
export async function namesIn(directory: string): Promise<readonly string[] | undefined> {
  const stamp = stampOf(directory);
  if (!stamp) return undefined;
  const { mtimeMs, ino } = stamp;
  const known = lists.get(directory);
  if (known?.mtimeMs === mtimeMs && known.ino === ino) return known.names;
  const readAt = Date.now();
  const names = await readdir(directory);
  if (Math.abs(readAt - mtimeMs) > STEP_MS) lists.set(directory, { mtimeMs, ino, names });
  return names;
}
