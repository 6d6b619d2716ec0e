import type { Clock } from "../../types/clock.ts";
import { runId, sessionKey } from "../../types/ids.ts";
import type { KeyValue, ReceivedFiles, RunFilter, RunLedger, RunRecord } from "../../types/journal.ts";
import type { Receipt } from "../../types/run/run.ts";
import { maskedJson } from "../../utils/secrets/mask-strings.ts";
import { agentIn, agentTerm, count, json, text } from "../database/columns.ts";
import type { Commits } from "../database/commits.ts";
import { pluginTotals, runTotals } from "./run-totals.ts";
import type { Params, Row, Statements } from "../database/sqlite.ts";

export { createSpendLedger } from "./spend-ledger.ts";
export { createTaskLook } from "./tasks.ts";

const RECORD = `
  INSERT OR REPLACE INTO runs (run_id, session_key, agent, at, result, receipt, input, output, cost)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
// Rows of auxiliary costs are no runs.
const LAST = `
  SELECT * FROM runs WHERE session_key = ? AND coalesce(receipt ->> 'trigger', '') NOT IN ('compaction', 'engine', 'plugin')
  ORDER BY at DESC, rowid DESC LIMIT 1`;

// `substr`, not a LIKE pattern, so that no character of an id has a special meaning.
const BEGINNING = "SELECT * FROM runs WHERE substr(run_id, 1, length(?)) = ? ORDER BY at DESC, rowid DESC LIMIT ?";

/** `failed` counts the runs whose `result` begins with that word. */
export function createLedger(commits: Commits): RunLedger {
  return {
    record: (run) => commits.write((sql) => putRun(sql, run)),
    recent: (limit, filter) =>
      commits.read((sql) => {
        const { where, values } = filterOf(filter);
        return sql
          .all(`SELECT * FROM runs ${where} ORDER BY at DESC, rowid DESC LIMIT ?`, ...values, limit)
          .map(toRecord);
      }),
    last: (key) =>
      commits.read((sql) => {
        const row = sql.one(LAST, key);
        return row && toRecord(row);
      }),
    find: (id) =>
      commits.read((sql) => {
        const row = sql.one("SELECT * FROM runs WHERE run_id = ?", id);
        return row && toRecord(row);
      }),
    beginningWith: (prefix, limit) => commits.read((sql) => sql.all(BEGINNING, prefix, prefix, limit).map(toRecord)),
    totals: (since) => runTotals(commits, since),
    pluginTotals: (since) => pluginTotals(commits, since),
  };
}

/** Replaces the earlier record of the same run. */
export function putRun(
  sql: Statements,
  { runId: id, sessionKey: key, agentId: agent, at, result, receipt }: RunRecord,
): void {
  const { input, output, cost } = receipt.usage;
  sql.run(RECORD, id, key, agent ?? null, at, result, maskedJson(receipt), input, output, cost.total);
}

const NOTE_RECEIVED = "INSERT OR IGNORE INTO received (session_key, name, at) VALUES (?, ?, ?)";

export function createReceived(commits: Commits, clock: Clock): ReceivedFiles {
  return {
    async note(names, key) {
      if (names.length === 0) return;
      await commits.write((sql) => {
        for (const name of names) sql.run(NOTE_RECEIVED, key, name, clock.now());
      });
    },
    of: (key) =>
      commits.read((sql) => {
        const rows = sql.all("SELECT name FROM received WHERE session_key = ?", key);
        return rows.map((row) => text(row, "name"));
      }),
  };
}

export function createValues(commits: Commits): KeyValue {
  return {
    get: (key) =>
      commits.read((sql) => {
        const row = sql.one("SELECT value FROM kept WHERE key = ?", key);
        return row && text(row, "value");
      }),
    set: (key, value) =>
      commits.write((sql) => {
        sql.run("INSERT OR REPLACE INTO kept (key, value) VALUES (?, ?)", key, value);
      }),
  };
}

function filterOf({ sessionKey: key, isFailed, ...of }: RunFilter = {}): { where: string; values: Params } {
  const all: readonly (readonly [string, Params] | undefined)[] = [
    key === undefined ? undefined : ["session_key = ?", [key]],
    agentTerm(of, "agent"),
    isFailed === true ? ["result LIKE 'failed%'", []] : undefined,
  ];
  const terms = all.filter((term) => term !== undefined);
  return {
    where: terms.length === 0 ? "" : `WHERE ${terms.map(([term]) => term).join(" AND ")}`,
    values: terms.flatMap(([, values]) => values),
  };
}

function toRecord(row: Row): RunRecord {
  return {
    runId: runId(text(row, "run_id")),
    sessionKey: sessionKey(text(row, "session_key")),
    ...agentIn(row),
    at: count(row, "at"),
    result: text(row, "result"),
    receipt: json<Receipt>(row, "receipt"),
  };
}
