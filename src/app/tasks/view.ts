import { runIdOf } from "../../dispatch/turn/ids.ts";
import { agentOf } from "../../sessions/keys.ts";
import type { TaskRow } from "../../store/journal/tasks.ts";
import type { BackgroundProcess } from "../../tools/process/background-process.ts";
import type { MessageOptions } from "../../types/chat/message.ts";
import type { AgentId, SessionKey } from "../../types/ids.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { Receipt } from "../../types/run/run.ts";
import type { SessionEntry } from "../../types/session.ts";
import type { TaskSummary } from "../../types/subagent/task.ts";
import { defined } from "../../utils/defined.ts";
import { Secret } from "../../types/secret.ts";

/** What the names of tasks are looked up in. */
export interface TaskNames {
  readonly defaultAgent: AgentId;
  entryOf(key: SessionKey): Readonly<SessionEntry> | undefined;
}

/** Tasks of the inbox are named by their row. */
const taskIdOf = (row: number): string => `task-${row}`;

/** The row that a task is named by; undefined for other names. */
export function rowOf(id: string): number | undefined {
  const digits = /^(?:task-|#)?(\d{1,15})$/.exec(id)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

export const execIdOf = ({ id }: Pick<BackgroundProcess, "id">): string => `exec-${id}`;

/** A row of the inbox as clients see it. Pure. */
export function taskOf(task: TaskRow, names: TaskNames): TaskSummary {
  const { row, status, receipt, sent } = task;
  const { options = {} } = row.message;
  const key = options.sessionKey ?? row.sessionKey;
  const kind = kindOf(options);
  const id = taskIdOf(row.id);
  const why = whyOf(row);
  return {
    id,
    taskId: id,
    kind,
    runtime: kind,
    status,
    title: titleOf(row, names),
    ...placeOf(row, key, names),
    runId: row.runId ?? runIdOf(row),
    ...defined({ sourceId: options.cron?.jobId }),
    ...timesOf(row),
    ...toolsOf(receipt),
    ...(why !== undefined && (status === "cancelled" ? { terminalSummary: why } : { error: why })),
    deliveryStatus: deliveryOf(sent),
  };
}

function kindOf({ subagent, cron }: MessageOptions): TaskSummary["kind"] {
  if (subagent) return "subagent";
  return cron ? "cron" : "hook";
}

function placeOf(row: InboxRow, key: SessionKey | undefined, { defaultAgent }: TaskNames): Partial<TaskSummary> {
  const { subagent, cron } = row.message.options ?? {};
  const agentId = row.agentId ?? (key && agentOf(key, defaultAgent));
  if (subagent) {
    const { parent } = subagent;
    return defined({ agentId, sessionKey: parent, ownerKey: parent, childSessionKey: key });
  }
  return defined({ agentId, sessionKey: key, ownerKey: cron?.tell });
}

function titleOf({ message }: InboxRow, { entryOf }: TaskNames): string {
  const { cron, hook, sessionKey, subagent } = message.options ?? {};
  const label = subagent && sessionKey ? entryOf(sessionKey)?.label : undefined;
  return firstLine(cron?.name ?? hook?.name ?? label ?? message.text);
}

function timesOf({ acceptedAt, starts, claimedAt, doneAt }: InboxRow): Partial<TaskSummary> {
  const startedAt = starts?.[0] ?? claimedAt;
  return defined({ createdAt: acceptedAt, startedAt, endedAt: doneAt, updatedAt: doneAt ?? startedAt ?? acceptedAt });
}

function toolsOf({ tools = [] }: Partial<Receipt> = {}): Partial<TaskSummary> {
  const last = tools.at(-1);
  const calls = tools.reduce((sum, tool) => sum + tool.calls, 0);
  return last ? { toolUseCount: calls, lastToolName: last.name } : {};
}

function whyOf({ outcome }: InboxRow): string | undefined {
  if (outcome?.kind === "aborted") return "it was stopped";
  return outcome?.kind === "failed" || outcome?.kind === "dropped" ? Secret.mask(outcome.why) : undefined;
}

function deliveryOf(sent: readonly string[]): NonNullable<TaskSummary["deliveryStatus"]> {
  if (sent.length === 0) return "not_applicable";
  if (sent.includes("failed") || sent.includes("unknown")) return "failed";
  return sent.includes("planned") || sent.includes("sending") ? "pending" : "delivered";
}

const EXEC_STATUS = { running: "running", completed: "completed", failed: "failed", killed: "cancelled" } as const;

/** A command in the background as clients see it. */
export function execTask(one: BackgroundProcess): TaskSummary {
  const id = execIdOf(one);
  const { startedAt, starter } = one.of;
  const isLate = one.end?.because === "timeout";
  return {
    id,
    taskId: id,
    kind: "exec",
    runtime: "exec",
    status: isLate ? "timed_out" : EXEC_STATUS[one.status],
    title: one.name,
    agentId: starter.agentId,
    sessionKey: starter.sessionKey,
    ownerKey: starter.sessionKey,
    createdAt: startedAt,
    startedAt,
    updatedAt: one.endedAt ?? startedAt,
    ...defined({ endedAt: one.endedAt }),
    deliveryStatus: "not_applicable",
  };
}

const MOST_TITLE = 80;

/** The beginning of a text, on one line. Pure. */
function firstLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > MOST_TITLE ? `${line.slice(0, MOST_TITLE - 1).toWellFormed()}…` : line;
}
