import { isDeepStrictEqual } from "node:util";
import type { SessionKey } from "../../types/ids.ts";
import type { SessionEntry, StoredSession } from "../../types/session.ts";
import type { Fields } from "../../utils/fields.ts";
import { patchRow, writeRow } from "./row.ts";

type RowMap = ReadonlyMap<SessionKey, SessionEntry>;

/** The changes that another program or a person made in `sessions.json`. */
export interface Edits {
  /** The new content of rows; undefined for one that was removed. */
  readonly rows: ReadonlyMap<SessionKey, SessionEntry | undefined>;
  readonly added: readonly SessionKey[];
  readonly edited: readonly SessionKey[];
  readonly removed: readonly SessionKey[];
}

/**
 * The edits that `theirs` (the file now) made to `base` (the file as it was last read or written here), to be applied to
 * `ours`. Compares key by key and field by field: a field that was changed on both sides stays as it is here, and so does
 * a row that was changed here and removed there. A program may write back a file that it read before the last write: an older
 * row does not bring back an earlier conversation, and a file with such a row removes none. Pure.
 */
export function findEdits(ours: RowMap, base: RowMap, theirs: RowMap): Edits {
  const rows = new Map<SessionKey, SessionEntry | undefined>();
  const found = { added: [] as SessionKey[], edited: [] as SessionKey[], removed: [] as SessionKey[] };
  for (const [key, their] of theirs) {
    const our = ours.get(key);
    const merged = our ? mergeRow(our, base.get(key), their) : addedRow(base.get(key), their);
    if (!merged) continue;
    rows.set(key, merged);
    (our ? found.edited : found.added).push(key);
  }
  if ([...theirs].some(([key, their]) => isOlder(their, base.get(key)))) return { rows, ...found };
  for (const [key, was] of base) {
    const our = ours.get(key);
    if (theirs.has(key) || !our || !isDeepStrictEqual(plain(our), plain(was))) continue;
    rows.set(key, undefined);
    found.removed.push(key);
  }
  return { rows, ...found };
}

/** The rows as they are with the edits. */
export function withEdits(ours: RowMap, { rows }: Edits): RowMap {
  const all = new Map(ours);
  for (const [key, row] of rows) {
    if (row) all.set(key, row);
    else all.delete(key);
  }
  return all;
}

/** The rows with each as it is kept. */
export const mapRows = (rows: RowMap, kept: (row: SessionEntry) => SessionEntry): Map<SessionKey, SessionEntry> =>
  new Map([...rows].map(([key, row]) => [key, kept(row)]));

/** The rows of one column of the journal's table. */
export const columnOf = (stored: readonly StoredSession[], column: "row" | "exported"): Map<SessionKey, SessionEntry> =>
  new Map(stored.flatMap(({ key, [column]: row }) => (row ? [[key, row] as const] : [])));

/** Undefined for a row that the file had before: it was removed here. */
const addedRow = (was: SessionEntry | undefined, their: SessionEntry): SessionEntry | undefined =>
  was ? undefined : their;

/** Undefined when the other program changed no field that is unchanged here. */
function mergeRow(our: SessionEntry, was: SessionEntry | undefined, their: SessionEntry): SessionEntry | undefined {
  const [ours, base, theirs] = [plain(our), was ? plain(was) : {}, plain(their)];
  const fields = new Set([...Object.keys(base), ...Object.keys(theirs)]);
  const kept = isOlder(their, was) ? OF_THE_CONVERSATION : [];
  const changed = [...fields].filter(
    (field) =>
      !kept.includes(field) &&
      !isDeepStrictEqual(theirs[field], base[field]) &&
      isDeepStrictEqual(ours[field], base[field]),
  );
  if (changed.length === 0) return undefined;
  return patchRow(our, Object.fromEntries(changed.map((field) => [field, theirs[field]])));
}

const OF_THE_CONVERSATION: readonly string[] = ["sessionId", "sessionFile", "updatedAt"];

/** Nobody sets the time of a row back: an older time means that the other program had read an earlier file. */
const isOlder = (their: SessionEntry, was: SessionEntry | undefined): boolean =>
  was !== undefined && their.updatedAt < was.updatedAt;

/** The row as it is written. */
const plain = (row: SessionEntry): Fields => ({ ...writeRow(row) });
