import { existsSync, statSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { SessionEntry } from "../../types/session.ts";
import { unlessMissing } from "../../utils/missing.ts";
import { fileOf } from "../rows/row.ts";

/** A transcript that `/new` or a deleted session left. */
export interface OldTranscript {
  readonly name: string;
  readonly bytes: number;
  /** When it was set aside, in epoch milliseconds. */
  readonly at: number;
}

/** The files of the folder of sessions. */
export interface StoredFiles {
  readonly bytes: number;
  /** Bytes of the transcripts in use, by the name of the file. */
  readonly sizes: ReadonlyMap<string, number>;
  /** The oldest first. */
  readonly old: readonly OldTranscript[];
}

/** Files that are asked for their size at once. */
const AT_ONCE = 16;
const SET_ASIDE = /\.jsonl\.(?:reset|deleted)\.(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d(?:\.\d+)?)Z/;

/** Looks at the files of a folder, a few at a time. Rejects with the reason of the signal when it aborts. */
export async function readStoredFiles(dir: string, signal?: AbortSignal): Promise<StoredFiles> {
  const entries = (await unlessMissing(readdir(dir, { withFileTypes: true }))) ?? [];
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  const sizes = new Map<string, number>();
  const old: OldTranscript[] = [];
  let total = 0;
  for (let from = 0; from < names.length; from += AT_ONCE) {
    signal?.throwIfAborted();
    const some = names.slice(from, from + AT_ONCE);
    const found = await Promise.all(some.map((name) => unlessMissing(stat(join(dir, name)))));
    for (const [at, file] of found.entries()) {
      const name = some[at];
      if (!file || name === undefined) continue;
      total += file.size;
      const setAside = setAsideAt(name);
      if (setAside !== undefined) old.push({ name, bytes: file.size, at: setAside });
      else if (name.endsWith(".jsonl")) sizes.set(name, file.size);
    }
  }
  return { bytes: total, sizes, old: old.toSorted((a, b) => a.at - b.at) };
}

/** The time in the name of an old transcript. The time of its last change would be that of its last message. */
function setAsideAt(name: string): number | undefined {
  const [, day, hour, minute, second] = SET_ASIDE.exec(name) ?? [];
  const at = day === undefined ? Number.NaN : Date.parse(`${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(at) ? undefined : at;
}

/** Finds the size of a session's transcript. Only a transcript outside of the folder is asked for. */
export function sizesIn(dir: string, { sizes }: StoredFiles): (entry: Readonly<SessionEntry>) => number | undefined {
  return (entry) => {
    const path = fileOf(entry, dir);
    if (dirname(path) === dir) return sizes.get(basename(path));
    return existsSync(path) ? statSync(path).size : undefined;
  };
}
