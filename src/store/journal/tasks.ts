import type { InboxRow } from "../../types/journal.ts";
import type { Receipt } from "../../types/run/run.ts";
import { TASK_STATUSES, type TaskStatus } from "../../types/subagent/task-status.ts";
import type { TaskFilter } from "../../types/subagent/task.ts";
import { agentTerm, jsonOr, textOr, word } from "../database/columns.ts";
import type { Commits } from "../database/commits.ts";
import { toInboxRow } from "./inbox-rows.ts";
import type { Params, Row } from "../database/sqlite.ts";

/** A message of the gateway to itself that is work which nobody waits for, with its run and its answer. */
export interface TaskRow {
  readonly row: InboxRow;
  readonly status: TaskStatus;
  readonly receipt?: Receipt;
  /** The states of the chunks of the task's answer, each once; none when nothing was sent. */
  readonly sent: readonly string[];
}

export interface TaskLook {
  /** The latest first; `cursor` is the row of the last one of the page before. */
  rows(filter: TaskFilter): Promise<readonly TaskRow[]>;
  row(id: number): Promise<TaskRow | undefined>;
}

// The same words as in the index inbox_tasks.
const IS_TASK = "message ->> '$.options.kind' IN ('cron', 'subagent', 'hook')";
const TASKS = `
  SELECT inbox.*, runs.receipt AS receipt,
    CASE
      WHEN inbox.state = 'accepted' THEN 'queued'
      WHEN inbox.state = 'claimed' THEN 'running'
      WHEN inbox.outcome ->> 'kind' IN ('aborted', 'dropped') THEN 'cancelled'
      WHEN inbox.outcome ->> 'kind' <> 'failed' THEN 'completed'
      WHEN runs.result IN ('aborted', 'failed:timeout') THEN 'timed_out'
      ELSE 'failed' END AS status,
    (SELECT group_concat(DISTINCT outbox.state) FROM outbox WHERE outbox.inbox_id = inbox.id) AS sent
  FROM inbox LEFT JOIN runs ON runs.run_id = inbox.run_id
  WHERE inbox.${IS_TASK}`;

/** Reads detached work out of the inbox. */
export function createTaskLook(commits: Commits): TaskLook {
  return {
    rows(filter) {
      const { terms, values } = termsOf(filter);
      const sql = `SELECT * FROM (${TASKS}) WHERE ${terms} ORDER BY id DESC LIMIT ?`;
      return commits.read((db) => db.all(sql, ...values, filter.limit).map(toTask));
    },
    row: (id) =>
      commits.read((db) => {
        const found = db.one(`${TASKS} AND inbox.id = ?`, id);
        return found && toTask(found);
      }),
  };
}

function termsOf({ statuses, sessionKey: key, cursor, ...of }: TaskFilter): { terms: string; values: Params } {
  const all: readonly (readonly [string, Params] | undefined)[] = [
    agentTerm(of, "agent"),
    statuses && [`status IN (${statuses.map(() => "?").join(", ")})`, statuses],
    key === undefined
      ? undefined
      : ["? IN (session_key, message ->> '$.options.sessionKey', message ->> '$.options.subagent.parent')", [key]],
    cursor === undefined ? undefined : ["id < ?", [Number(cursor)]],
  ];
  const given = all.filter((term) => term !== undefined);
  return {
    terms: given.length === 0 ? "true" : given.map(([term]) => term).join(" AND "),
    values: given.flatMap(([, values]) => values),
  };
}

function toTask(row: Row): TaskRow {
  const receipt = jsonOr<Receipt>(row, "receipt");
  return {
    row: toInboxRow(row),
    status: word(row, "status", TASK_STATUSES),
    ...(receipt && { receipt }),
    sent: textOr(row, "sent")?.split(",") ?? [],
  };
}
