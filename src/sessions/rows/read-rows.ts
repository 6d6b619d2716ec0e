import { readSessionTable } from "../../store/journal/session-table.ts";
import type { AgentId, SessionKey } from "../../types/ids.ts";
import type { SessionEntry } from "../../types/session.ts";
import { columnOf, findEdits, withEdits } from "./merge-rows.ts";
import { readRowsFile } from "./rows-file.ts";

export interface RowPlaces {
  /** The directory of `sessions.json`. */
  readonly dir: string;
  /** Path of the journal. */
  readonly journal: string;
}

/**
 * The session rows of a state directory as the next start of the gateway would have them: those of the journal, with what was
 * edited in `sessions.json` since. Changes nothing, so a gateway may own the directory. Throws when there is no row in the
 * journal and `sessions.json` cannot be read, and `OpenClawError` when the journal cannot.
 */
export async function readRows(
  { dir, journal }: RowPlaces,
  defaultAgent: AgentId,
): Promise<ReadonlyMap<SessionKey, SessionEntry>> {
  const stored = await readSessionTable(journal);
  const rows = columnOf(stored, "row");
  try {
    const theirs = await readRowsFile(dir, defaultAgent);
    return theirs ? withEdits(rows, findEdits(rows, columnOf(stored, "exported"), theirs.rows)) : rows;
  } catch (error) {
    // The gateway sets such a file aside and continues with the journal's rows.
    if (rows.size > 0) return rows;
    throw error;
  }
}
