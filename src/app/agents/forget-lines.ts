import { resolve } from "node:path";
import { appendChange, changesFileOf, FORGET, lineHashes } from "../../../extensions/memory-core/changes.ts";
import type { MemoryPlace } from "../../../extensions/memory-core/job.ts";
import { readNoteText } from "../../../extensions/memory-core/notes.ts";
import { writeAtomic } from "../../store/disk.ts";

interface Forgotten {
  readonly path: string;
  /** The lines of the note as it was read. */
  readonly all: readonly string[];
  /** The numbers of those that go, from 1. */
  readonly gone: readonly number[];
}

/**
 * Removes lines from a note, and records that a person did. False, with nothing changed, when the note has other lines by now: the
 * agent may have written since. Throws DISK_FULL or DISK_WRITE.
 */
export async function forgetLines(place: MemoryPlace, { path, all, gone }: Forgotten): Promise<boolean> {
  if (readNoteText(place, path) !== all.join("\n")) return false;
  const isGone = (_line: string, index: number): boolean => gone.includes(index + 1);
  await writeAtomic(resolve(place.workspace, path), all.filter((line, index) => !isGone(line, index)).join("\n"));
  await appendChange(changesFileOf(place.db), {
    at: new Date().toISOString(),
    path,
    tool: FORGET,
    by: "owner operator",
    origin: "owner",
    added: [],
    removed: lineHashes(all.filter(isGone)),
  });
  return true;
}
