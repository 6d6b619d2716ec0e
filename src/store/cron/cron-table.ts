import type { CronRun, CronRunFilter } from "../../types/cron/run.ts";
import type { CronTable, StoredRow } from "../../types/cron/table.ts";
import { maskedJson } from "../../utils/secrets/mask-strings.ts";
import { isFields } from "../../utils/fields.ts";
import { agentTerm, anyJson, count, text } from "../database/columns.ts";
import type { Commits } from "../database/commits.ts";
import type { Params, Row, Statements } from "../database/sqlite.ts";

const PUT = `
  INSERT INTO cron_jobs (id, job, state) VALUES (?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET job = excluded.job, state = excluded.state`;
const PUT_STATE = "UPDATE cron_jobs SET state = ? WHERE id = ?";
// A record is written once for a slot. A second one, after a restart, changes nothing.
const ADD_RUN = `
  INSERT OR IGNORE INTO cron_runs (event_key, job_id, run_id, ts, status, delivery, session_key, record, agent)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, (SELECT agent FROM cron_jobs WHERE id = ?2))`;
const SESSIONS = "SELECT DISTINCT session_key FROM cron_runs WHERE session_key IS NOT NULL AND ts < ? LIMIT ?";
const FORGET = "UPDATE cron_runs SET session_key = NULL WHERE session_key = ?";
const PRUNE_OLD = "DELETE FROM cron_runs WHERE ts < ? AND session_key IS NULL";
const PRUNE_MANY = `
  DELETE FROM cron_runs WHERE session_key IS NULL AND event_key IN (
    SELECT event_key FROM (
      SELECT event_key, row_number() OVER (PARTITION BY job_id ORDER BY ts DESC) AS place FROM cron_runs)
    WHERE place > ?)`;

export function createCronTable(commits: Commits): CronTable {
  return {
    all: () => commits.read((sql) => sql.all("SELECT id, job, state FROM cron_jobs ORDER BY rowid").map(toStored)),
    put: (job, state) => commits.write((sql) => void sql.run(PUT, job.id, JSON.stringify(job), JSON.stringify(state))),
    putState: (id, state) => commits.write((sql) => void sql.run(PUT_STATE, JSON.stringify(state), id)),
    remove: (id) => commits.write((sql) => sql.run("DELETE FROM cron_jobs WHERE id = ?", id).changes > 0),
    addRun: (run, eventKey, state) =>
      commits.write((sql) => {
        putRun(sql, run, eventKey);
        sql.run(PUT_STATE, JSON.stringify(state), run.jobId);
      }),
    runs: (filter) => commits.read((sql) => readRuns(sql, filter)),
    sessionsBefore: (ts, limit) =>
      commits.read((sql) => sql.all(SESSIONS, ts, limit).map((row) => text(row, "session_key"))),
    forgetSession: (key) => commits.write((sql) => void sql.run(FORGET, key)),
    prune: (before, most) =>
      commits.write((sql) => {
        sql.run(PRUNE_OLD, before);
        sql.run(PRUNE_MANY, most);
      }),
  };
}

function putRun(sql: Statements, run: CronRun, eventKey: string): void {
  const { jobId, runId, ts, status, deliveryStatus, sessionKey } = run;
  sql.run(ADD_RUN, eventKey, jobId, runId ?? null, ts, status, deliveryStatus, sessionKey ?? null, maskedJson(run));
}

function readRuns(sql: Statements, filter: CronRunFilter): { runs: readonly CronRun[]; total: number } {
  const { where, values } = whereOf(filter);
  const order = filter.isOldestFirst === true ? "ASC" : "DESC";
  const rows = sql.all(
    `SELECT record FROM cron_runs ${where} ORDER BY ts ${order}, rowid ${order} LIMIT ? OFFSET ?`,
    ...values,
    filter.limit,
    filter.offset,
  );
  const total = count(sql.one(`SELECT count(*) AS total FROM cron_runs ${where}`, ...values), "total");
  return { runs: rows.flatMap(runIn), total };
}

/** A record that cannot be read is left out. */
function runIn(row: Row): readonly CronRun[] {
  const record = anyJson(row, "record");
  return isRun(record) ? [record] : [];
}

const isRun = (value: unknown): value is CronRun =>
  isFields(value) && typeof value["jobId"] === "string" && typeof value["ts"] === "number";

function whereOf(filter: CronRunFilter): { readonly where: string; readonly values: Params } {
  const terms: readonly (readonly [string, Params] | undefined)[] = [
    filter.jobId === undefined ? undefined : ["job_id = ?", [filter.jobId]],
    agentTerm(filter, "agent"),
    filter.runId === undefined ? undefined : ["run_id = ?", [filter.runId]],
    anyOf("status", filter.statuses),
    anyOf("delivery", filter.deliveryStatuses),
    filter.query === undefined ? undefined : ["instr(lower(record), lower(?)) > 0", [filter.query]],
  ];
  const given = terms.filter((term) => term !== undefined);
  if (given.length === 0) return { where: "", values: [] };
  return { where: `WHERE ${given.map(([term]) => term).join(" AND ")}`, values: given.flatMap(([, values]) => values) };
}

function anyOf(column: string, words: readonly string[] | undefined): readonly [string, Params] | undefined {
  if (!words || words.length === 0) return undefined;
  return [`${column} IN (${words.map(() => "?").join(", ")})`, words];
}

export const toStored = (row: Row): StoredRow => ({
  id: text(row, "id"),
  job: anyJson(row, "job"),
  state: anyJson(row, "state"),
});
