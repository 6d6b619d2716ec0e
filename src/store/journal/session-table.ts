import { DatabaseSync } from "node:sqlite";
import { sessionKey } from "../../types/ids.ts";
import type { ExportState, SessionEntry, SessionTable, StoredSession } from "../../types/session.ts";
import { json, jsonOr, text } from "../database/columns.ts";
import type { Commits } from "../database/commits.ts";
import { hasTables } from "../database/version.ts";
import { fileSize } from "../files.ts";
import { type Row, Statements, sqliteError } from "../database/sqlite.ts";

const EXPORT = "sessions.export";

const ALL = "SELECT key, row, exported FROM sessions";
const WRITE = "INSERT INTO sessions (key, row) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET row = excluded.row";
// A removed row stays as long as sessions.json contains it. Without it, a row that a person added there could not be
// distinguished from one whose removal was not exported yet.
const FORGET_ROW = "UPDATE sessions SET row = NULL WHERE key = ? AND exported IS NOT NULL";
const REMOVE_ROW = "DELETE FROM sessions WHERE key = ? AND exported IS NULL";
const NOTE =
  "INSERT INTO sessions (key, exported) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET exported = excluded.exported";
const FORGET_NOTE = "UPDATE sessions SET exported = NULL WHERE key = ? AND row IS NOT NULL";
const REMOVE_NOTE = "DELETE FROM sessions WHERE key = ? AND row IS NULL";

/** The journal's session rows. */
export function createSessionTable(commits: Commits): SessionTable {
  return {
    all: () => commits.read((sql) => sql.all(ALL).map(toStored)),
    write: (rows) =>
      commits.write((sql) => {
        for (const [key, row] of rows) put(sql, key, row, { set: WRITE, forget: FORGET_ROW, remove: REMOVE_ROW });
      }),
    lastExport: () =>
      commits.read((sql) => {
        const row = sql.one("SELECT value FROM kept WHERE key = ?", EXPORT);
        return row && json<ExportState>(row, "value");
      }),
    noteExport: (rows, state) =>
      commits.write((sql) => {
        for (const [key, row] of rows) put(sql, key, row, { set: NOTE, forget: FORGET_NOTE, remove: REMOVE_NOTE });
        sql.run("INSERT OR REPLACE INTO kept (key, value) VALUES (?, ?)", EXPORT, JSON.stringify(state));
      }),
  };
}

/**
 * Reads the session rows of a journal on disk. None when there is no journal, or when its version
 * cannot be opened. Throws `OpenClawError` when it cannot be read.
 */
export async function readSessionTable(path: string): Promise<readonly StoredSession[]> {
  if ((await fileSize(path)) === undefined) return [];
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout: 2000 });
    if (!hasTables(db)) return [];
    return new Statements(db, path).all(ALL).map(toStored);
  } catch (error) {
    throw sqliteError(error, path);
  } finally {
    db?.close();
  }
}

interface PutSql {
  readonly set: string;
  readonly forget: string;
  readonly remove: string;
}

function put(sql: Statements, key: string, row: SessionEntry | undefined, { set, forget, remove }: PutSql): void {
  if (row) return void sql.run(set, key, JSON.stringify(row));
  sql.run(remove, key);
  sql.run(forget, key);
}

const toStored = (row: Row): StoredSession => ({
  key: sessionKey(text(row, "key")),
  row: jsonOr<SessionEntry>(row, "row"),
  exported: jsonOr<SessionEntry>(row, "exported"),
});
