import { dirname } from "node:path";
import { readSessionTable } from "../../store/journal/session-table.ts";
import { readPlaces } from "../../store/places.ts";
import type { AgentId, SessionKey } from "../../types/ids.ts";
import type { SessionEntry } from "../../types/session.ts";
import { columnOf, findEdits, mapRows, withEdits } from "./merge-rows.ts";
import { keptRow } from "./row.ts";
import { readRowsFile } from "./rows-file.ts";

export interface RowPlaces {
  /** The directory of `sessions.json`. */
  readonly dir: string;
  /** Path of the journal. */
  readonly journal: string;
}

/**
 * The session rows of a state directory as the next start of the gateway would have them: the journal's rows, with the
 * edits that were made in `sessions.json` since. Changes nothing, so a gateway may own the directory. Throws when there
 * is no row in the journal and `sessions.json` cannot be read, and `OpenClawError` when the journal cannot.
 */
export async function readRows(
  { dir, journal }: RowPlaces,
  defaultAgent: AgentId,
): Promise<ReadonlyMap<SessionKey, SessionEntry>> {
  const earlier = await readPlaces(dirname(dir));
  const kept = (all: ReadonlyMap<SessionKey, SessionEntry>) => mapRows(all, (row) => keptRow(row, dir, earlier));
  const stored = await readSessionTable(journal);
  const rows = kept(columnOf(stored, "row"));
  try {
    const theirs = await readRowsFile(dir, defaultAgent);
    if (!theirs) return rows;
    return withEdits(rows, findEdits(rows, kept(columnOf(stored, "exported")), kept(theirs.rows)));
  } catch (error) {
    // The gateway sets such a file aside and continues with the journal's rows.
    if (rows.size > 0) return rows;
    throw error;
  }
}
