import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { TranscriptEntry } from "../../types/session.ts";
import { BackReader } from "./back-reader.ts";
import type { EntryLink, WrittenLink } from "./entries.ts";
import { openOrMissing, readHeader } from "./prepare.ts";
import { readLine } from "./read-line.ts";

/** A part of a conversation that a run has seen. */
export interface Stretch {
  readonly firstId: string;
  readonly lastId: string;
  /** Whether the summary before the stretch is wanted too, however far back it is. */
  readonly hasSummary: boolean;
}

/**
 * The entries of a file from a stretch's beginning, or the compaction before it, to the file's end, in their order. Reads
 * from the end, also while a run may write. Undefined when the stretch is not there. Throws when the file cannot be read.
 */
export async function readBackTo(path: string, stretch: Stretch): Promise<readonly TranscriptEntry[] | undefined> {
  const file = await openOrMissing(path, "r");
  if (!file) return undefined;
  try {
    const { size } = await file.stat();
    return await collect(new BackReader(file, size), stretch);
  } finally {
    await file.close();
  }
}

async function collect(reader: BackReader, stretch: Stretch): Promise<readonly TranscriptEntry[] | undefined> {
  const { firstId, lastId, hasSummary } = stretch;
  const links: WrittenLink[] = [];
  let wanted: string | null | undefined = lastId;
  const open = new Set(hasSummary ? ["first", "summary"] : ["first"]);
  let isAll = false;
  while (wanted !== null && open.size > 0) {
    const raw = await reader.previous();
    isAll = raw === undefined;
    if (!raw) break;
    for (const { link } of readLine(raw).entries.toReversed()) {
      links.push(link);
      if (wanted !== undefined && link.id !== wanted) continue;
      wanted = link.parentId;
      if (link.id === firstId) open.delete("first");
      if (link.entry?.type === "compaction") open.delete("summary");
    }
  }
  const entries = bridged(linked(links.toReversed(), isAll));
  return entries.some((entry) => entry.id === firstId) ? entries : undefined;
}

/**
 * Gives entries whose parent is missing the entry in front of them as parent, as the walk along a branch does. `isAll`:
 * the file was read to its beginning; before that the parent may be further in front.
 */
function linked(links: readonly WrittenLink[], isAll: boolean): readonly EntryLink[] {
  const known = new Set<string | null>([null]);
  let before: string | null = null;
  return links.map((link) => {
    const { parentId } = link;
    const parent = parentId !== undefined && (!isAll || known.has(parentId)) ? parentId : before;
    known.add(link.id);
    before = link.id;
    return { ...link, parentId: parent, ...(link.entry && { entry: { ...link.entry, parentId: parent } }) };
  });
}

/** An entry whose parent is of an unknown kind follows the parent of that one. */
function bridged(links: readonly EntryLink[]): readonly TranscriptEntry[] {
  const instead = new Map<string, string | null>();
  return links.flatMap(({ id, parentId, entry }) => {
    const parent = parentId === null ? null : (instead.get(parentId) ?? parentId);
    if (entry) return [{ ...entry, parentId: parent }];
    instead.set(id, parent);
    return [];
  });
}

/** The earlier files of a session key, the latest first: they were set aside, and their headers name the key. */
export async function earlierFiles(dir: string, key: string): Promise<readonly string[]> {
  const names = (await readdir(dir)).filter((name) => /\.jsonl(?:\.(?:reset|deleted)\..+)?$/.test(name));
  const found = await Promise.all(
    names.map(async (name) => {
      const header = await readHeader(join(dir, name));
      return header?.sessionKey === key ? { path: join(dir, name), at: header.timestamp } : undefined;
    }),
  );
  return found
    .filter((file) => file !== undefined)
    .toSorted((a, b) => Number(b.at > a.at) - Number(b.at < a.at))
    .map((file) => file.path);
}
