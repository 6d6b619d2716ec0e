import { rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { writeAtomic } from "../../../store/disk.ts";
import { endedImport, type EndedImport, type FoundState } from "../../../types/answers/import.ts";
import type { StatePaths } from "../../config/paths.ts";
import { readTextFile } from "../../../store/text-file.ts";

/** Finds what another program has left. The command line gives it: it alone knows how to import. */
export interface MovingIn {
  /** What an import would take; undefined where there is nothing. Reads only. */
  look(): Promise<FoundState | undefined>;
}

export const NOTHING_LEFT: MovingIn = { look: async () => undefined };

type Place = Pick<StatePaths, "stateSub">;

const wishPath = ({ stateSub }: Place): string => join(stateSub, "import-wish.json");
const endPath = ({ stateSub }: Place): string => join(stateSub, "import-end.json");
const wish = z.looseObject({ dir: z.string().min(1) });

/** Notes which directory the next start takes over before it opens the state. */
export async function wishImport(paths: Place, dir: string): Promise<void> {
  await writeAtomic(wishPath(paths), JSON.stringify({ dir }));
}

/**
 * The directory that this start takes over. The wish is gone afterwards, whatever becomes of it, and until its end is noted the client
 * is told that the gateway ended meanwhile.
 */
export async function takeImportWish(paths: Place): Promise<string | undefined> {
  const text = await readTextFile(wishPath(paths));
  if (text === undefined) return undefined;
  const dir = parsed(wish, text)?.dir;
  if (dir !== undefined)
    await noteImportEnd(paths, { dir, at: Date.now(), error: CUT, warnings: [], kinds: [], channelsOff: false });
  await rm(wishPath(paths), { force: true });
  return dir;
}

const CUT =
  "the gateway ended meanwhile, so a part of it may be here. Begin it again: what is here already is not taken twice.";

/** Keeps the end of an import for the client that asked for it. */
export async function noteImportEnd(paths: Place, end: EndedImport): Promise<void> {
  await writeAtomic(endPath(paths), JSON.stringify(end));
}

/** The end of the latest import that a client asked for. */
export async function lastImport(paths: Place): Promise<EndedImport | undefined> {
  const text = await readTextFile(endPath(paths));
  return text === undefined ? undefined : parsed(endedImport, text);
}

function parsed<T>(shape: z.ZodType<T>, text: string): T | undefined {
  try {
    return shape.parse(JSON.parse(text));
  } catch {
    // A crash of the machine has cut the file.
    return undefined;
  }
}
