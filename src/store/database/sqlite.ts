import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import { OpenClawError } from "../../types/errors.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { diskError, diskFull } from "../disk.ts";
import { realPathsOf, OwnPath, stateDirOf } from "../own-path.ts";

export type Row = Record<string, SQLOutputValue>;
export type Params = readonly SQLInputValue[];

// SQLite's primary result codes.
/** Another connection holds a lock. */
export const BUSY = 5;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const NOTADB = 26;

/** The primary result code of an error from node:sqlite, or undefined. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode & 0xff : undefined;
}

/** Whether the disk caused the error and not the statement: then the whole transaction is lost. */
export function isDiskFault(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === FULL || code === IOERR || code === READONLY || code === CANTOPEN;
}

/** Whether the file is not a journal any more. */
export function isBroken(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === CORRUPT || code === NOTADB;
}

/** SQLite's error as one for the operator. Errors that the operator cannot solve are returned unchanged. */
export function sqliteError(error: unknown, path: string): unknown {
  if (sqliteCode(error) === FULL) return diskFull(path, error);
  if (isDiskFault(error) || sqliteCode(error) === BUSY) return diskError(error, path);
  return isBroken(error) ? brokenJournal(path, error) : error;
}

export function brokenJournal(path: string, cause: unknown): OpenClawError {
  return new OpenClawError("JOURNAL_BROKEN", {
    message: `The journal ${path} cannot be read: ${errorText(cause)}.`,
    fix: brokenFix(path),
    cause,
  });
}

/** Steps that a person can take about a journal that is not one any more. */
export const brokenFix = (path: string): string =>
  `Stop the gateway and restore a backup. Without one, move the file aside and start again: mv ${path} ${path}.broken. Conversations are kept in sessions/; ${IN_JOURNAL} are lost.`;

/** Data that only the journal has. */
export const IN_JOURNAL = "pairings, scheduled jobs, unanswered messages and unsent replies";

/** Prepared statements by their text. */
export class Statements {
  readonly #db: DatabaseSync;
  readonly #own: OwnPath | undefined;
  readonly #prepared = new Map<string, StatementSync>();

  /** `path`: that of the database. */
  constructor(db: DatabaseSync, path: string) {
    this.#db = db;
    const dir = stateDirOf(path);
    this.#own = dir === undefined ? undefined : new OwnPath(dir, realPathsOf(dir));
  }

  run(sql: string, ...params: Params): { changes: number; id: number } {
    const done = this.#of(sql).run(...this.#kept(params));
    return { changes: Number(done.changes), id: Number(done.lastInsertRowid) };
  }

  one(sql: string, ...params: Params): Row | undefined {
    const row = this.#of(sql).get(...this.#kept(params));
    return row && this.#opened(row);
  }

  all(sql: string, ...params: Params): Row[] {
    const rows = this.#of(sql).all(...this.#kept(params));
    for (const row of rows) this.#opened(row);
    return rows;
  }

  #kept(params: Params): Params {
    const own = this.#own;
    return own ? params.map((value) => (typeof value === "string" ? own.kept(value) : value)) : params;
  }

  #opened(row: Row): Row {
    for (const column in row) {
      const value = row[column];
      if (this.#own && typeof value === "string") row[column] = this.#own.opened(value);
    }
    return row;
  }

  #of(sql: string): StatementSync {
    const known = this.#prepared.get(sql);
    if (known) return known;
    const statement = this.#db.prepare(sql);
    this.#prepared.set(sql, statement);
    return statement;
  }
}
