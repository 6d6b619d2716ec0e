import type { Clock } from "../../types/clock.ts";
import { runId, sessionKey } from "../../types/ids.ts";
import type { ApprovalRules, KeyValue, ReceivedFiles, RunFilter, RunLedger, RunRecord } from "../../types/journal.ts";
import type { Receipt } from "../../types/run/run.ts";
import { maskStrings } from "../../utils/secrets/mask-strings.ts";
import { count, given, json, text, textOr } from "./columns.ts";
import type { Commits } from "./commits.ts";
import type { Params, Row } from "./sqlite.ts";

const RECORD = `
  INSERT OR REPLACE INTO runs (run_id, session_key, at, result, receipt, input, output, cost)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
// Rows of auxiliary costs are known by their ids here: reading the receipts of a day would cost too much.
const IS_RUN =
  "run_id NOT GLOB 'plugin-*' AND run_id NOT GLOB 'compact-*' AND run_id NOT GLOB '*-engine' AND run_id NOT GLOB '*-compact'";
const TOTALS = `
  SELECT coalesce(sum(${IS_RUN}), 0) AS runs, coalesce(sum(result LIKE 'failed%'), 0) AS failed, coalesce(sum(input), 0) AS input,
    coalesce(sum(output), 0) AS output, coalesce(sum(cost), 0) AS cost
  FROM runs WHERE at >= ?`;

// The receipts that name no plugin are not parsed. A run that a plugin asked for is that plugin's, but for its calls beside.
const PLUGIN_TOTALS = `
  WITH own AS (SELECT receipt FROM runs WHERE at >= ? AND instr(receipt, '"plugin":') > 0),
  beside AS (
    SELECT own.receipt ->> 'plugin' AS asker, cost.value ->> 'plugin' AS plugin, cost.value AS cost
    FROM own, json_each(own.receipt, '$.beside') AS cost
  ),
  parts AS (
    SELECT plugin, 1 AS sign, cost AS part FROM beside WHERE plugin IS NOT NULL
    UNION ALL SELECT asker, -1, cost FROM beside WHERE plugin IS NOT NULL AND asker IS NOT NULL
    UNION ALL SELECT receipt ->> 'plugin', 1, receipt FROM own WHERE receipt ->> 'plugin' IS NOT NULL
  )
  SELECT plugin, sum(sign * (part ->> 'calls')) AS calls, sum(sign * (part ->> '$.usage.input')) AS input,
    sum(sign * (part ->> '$.usage.output')) AS output, sum(sign * (part ->> '$.usage.cost.total')) AS cost
  FROM parts GROUP BY 1 ORDER BY 1`;

// Rows of auxiliary costs are no runs.
const LAST = `
  SELECT * FROM runs WHERE session_key = ? AND coalesce(receipt ->> 'trigger', '') NOT IN ('compaction', 'engine', 'plugin')
  ORDER BY at DESC, rowid DESC LIMIT 1`;

// Not a LIKE pattern, so that no character of an id has a special meaning.
const BEGINNING = "SELECT * FROM runs WHERE substr(run_id, 1, length(?)) = ? ORDER BY at DESC, rowid DESC LIMIT ?";

/** `failed` counts the runs whose `result` begins with that word. */
export function createLedger(commits: Commits): RunLedger {
  return {
    record: ({ runId: id, sessionKey: key, at, result, receipt }) =>
      commits.write((sql) => {
        const { input, output, cost } = receipt.usage;
        sql.run(RECORD, id, key, at, result, JSON.stringify(maskStrings(receipt)), input, output, cost.total);
      }),
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
    totals: (since) =>
      commits.read((sql) => {
        const row = sql.one(TOTALS, since);
        return {
          runs: count(row, "runs"),
          failed: count(row, "failed"),
          input: count(row, "input"),
          output: count(row, "output"),
          costUsd: count(row, "cost"),
        };
      }),
    pluginTotals: (since) =>
      commits.read((sql) =>
        sql.all(PLUGIN_TOTALS, since).map((row) => ({
          plugin: text(row, "plugin"),
          calls: count(row, "calls"),
          input: count(row, "input"),
          output: count(row, "output"),
          costUsd: count(row, "cost"),
        })),
      ),
  };
}

export function createApprovals(commits: Commits, clock: Clock): ApprovalRules {
  return {
    allowance: (agent, command) =>
      commits.read((sql) => {
        const row = sql.one("SELECT given_by FROM allowed WHERE agent = ? AND command = ?", agent, command);
        return row && given({ givenBy: textOr(row, "given_by") });
      }),
    allow: (agent, command, by) =>
      commits.write((sql) => {
        const add = "INSERT OR REPLACE INTO allowed (agent, command, at, given_by) VALUES (?, ?, ?, ?)";
        sql.run(add, agent, command, clock.now(), by);
      }),
  };
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

function filterOf({ sessionKey: key, isFailed }: RunFilter = {}): { where: string; values: Params } {
  const terms = [key !== undefined && "session_key = ?", isFailed === true && "result LIKE 'failed%'"].filter(Boolean);
  return {
    where: terms.length === 0 ? "" : `WHERE ${terms.join(" AND ")}`,
    values: key === undefined ? [] : [key],
  };
}

function toRecord(row: Row): RunRecord {
  return {
    runId: runId(text(row, "run_id")),
    sessionKey: sessionKey(text(row, "session_key")),
    at: count(row, "at"),
    result: text(row, "result"),
    receipt: json<Receipt>(row, "receipt"),
  };
}
