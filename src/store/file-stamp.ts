import { lstatSync, type Stats, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { BoundedMap } from "../utils/bounded-map.ts";

/**
 * When and how a file was last changed; undefined when there is none. Throws the system's other errors. Synchronous, because each
 * message looks at some twenty files: an asynchronous `stat` passes through another thread, which takes ten times as much
 * processor time as the call itself.
 */
export const stampOf = (path: string): Stats | undefined => statSync(path, { throwIfNoEntry: false });

/** The names that were not found in a directory since its last change. */
interface Missing {
  /** Epoch milliseconds of the first look. */
  readonly since: number;
  readonly mtimeMs: number;
  readonly ino: number;
  readonly names: Set<string>;
}

const MOST_LOOKS = 200;
/** Milliseconds after which a missing file is looked for again: some file systems do not change a directory's time when a file is added. */
const LOOK_AGAIN_MS = 10_000;
const looks = new BoundedMap<string, Missing>(MOST_LOOKS);

/**
 * The stamps of files in a directory by their names. Costs a `stat` of the directory and of each existing file: a
 * missing file is looked for again after a change of the directory, or after ten seconds. Both throw as `stampOf`.
 */
export function stampsIn(directory: string): (name: string) => Stats | undefined {
  const missing = missingIn(directory, Date.now());
  return (name) => {
    if (missing?.has(name) === true) return undefined;
    const path = join(directory, name);
    const found = stampOf(path);
    if (!found && missing && !isLink(path)) missing.add(name);
    return found;
  };
}

/** Undefined when the directory was changed so recently that a further change may get the same time. */
function missingIn(directory: string, now: number): Set<string> | undefined {
  const stamp = stampOf(directory);
  if (!stamp || Math.abs(now - stamp.mtimeMs) <= STEP_MS) return undefined;
  const { mtimeMs, ino } = stamp;
  const known = looks.get(directory);
  const isSame = known?.mtimeMs === mtimeMs && known.ino === ino;
  if (isSame && Math.abs(now - known.since) < LOOK_AGAIN_MS) return known.names;
  const names = new Set<string>();
  looks.set(directory, { since: now, mtimeMs, ino, names });
  return names;
}

/** The target of a link can be created without a change of the link's directory. */
const isLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

interface List {
  readonly mtimeMs: number;
  readonly ino: number;
  readonly names: readonly string[];
}

const MOST_LISTS = 200;
const lists = new BoundedMap<string, List>(MOST_LISTS);
/** The clock of a file system may advance in steps as large as this: a directory that was changed just now is read again. */
const STEP_MS = 2000;

/**
 * The names in a directory. Reads the directory again only after a change. Undefined when it is missing. Rejects with
 * the system's other errors.
 */
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
