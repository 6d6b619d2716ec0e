import { conversationLines } from "../../dispatch/commands/reports/conversation.ts";
import { turnIn } from "../../automation/talk/answers.ts";
import type { TaskLook, TaskRow } from "../../store/journal/tasks.ts";
import type { BackgroundProcess } from "../../tools/process/background-process.ts";
import type { InboxRow } from "../../types/journal.ts";
import { Secret } from "../../types/secret.ts";
import type { TranscriptReading, SessionEntry } from "../../types/session.ts";
import type { TaskDesk, TaskFilter, TaskStory, TaskSummary } from "../../types/subagent/task.ts";
import { runIdOf, turnIdOf } from "../../dispatch/turn-facts.ts";
import { agentOf } from "../../sessions/keys.ts";
import type { MessageOptions } from "../../types/chat/message.ts";
import type { AgentId, SessionKey } from "../../types/ids.ts";
import type { Receipt } from "../../types/run/run.ts";
import { defined } from "../../utils/defined.ts";

/** Most characters of a prompt and of a result. */
const MOST_TEXT = 8000;
/** Latest entries of a transcript in which the answer of a task's turn is looked for. */
const MOST_ENTRIES = 400;

interface Place {
  readonly journal: { readonly tasks: TaskLook };
  readonly names: TaskNames;
  readonly sessions: Pick<TranscriptReading, "history">;
  /** Ends a row of the inbox and its run; false when the row had its outcome. */
  end(row: InboxRow): Promise<boolean>;
  processes(): readonly BackgroundProcess[];
}

/** The ledger of detached work: rows of the inbox, and the commands that run in the background of this process. */
export function openTasks(place: Place): TaskDesk {
  const { journal, names, processes } = place;
  return {
    async list(filter) {
      // Commands are only in memory and few, so the first page has all of them.
      const running = filter.cursor === undefined ? processes().map(execTask).filter(isWanted(filter)) : [];
      const rows = await journal.tasks.rows(filter);
      const last = rows.at(-1);
      const tasks = [...running, ...rows.map((row) => taskOf(row, names))];
      return {
        tasks: tasks.toSorted((one, other) => (other.createdAt ?? 0) - (one.createdAt ?? 0)),
        ...(last && rows.length === filter.limit && { nextCursor: String(last.row.id) }),
      };
    },
    async get(id) {
      const found = await find(id, place);
      if (!found) return undefined;
      return "row" in found ? storyOf(found, place) : execStory(found);
    },
    cancel: (id) => cancel(id, place),
  };
}

const isWanted =
  ({ agentId, sessionKey, statuses }: TaskFilter) =>
  (task: TaskSummary): boolean =>
    (agentId === undefined || task.agentId === agentId) &&
    (sessionKey === undefined || task.sessionKey === sessionKey) &&
    (statuses?.includes(task.status) ?? true);

async function find(id: string, { journal, processes }: Place): Promise<TaskRow | BackgroundProcess | undefined> {
  const row = rowOf(id);
  return row === undefined ? processes().find((one) => execIdOf(one) === id) : journal.tasks.row(row);
}

async function storyOf(task: TaskRow, { names, sessions }: Place): Promise<TaskStory> {
  const summary = taskOf(task, names);
  const key = task.row.sessionKey ?? task.row.message.options?.sessionKey;
  const isAnswered = summary.status === "completed" && key !== undefined;
  const entries = isAnswered ? (await sessions.history(key, MOST_ENTRIES)).entries : [];
  const result = conversationLines(turnIn(entries, turnIdOf(task.row)), true).findLast(
    ({ by }) => by === "agent",
  )?.text;
  return {
    ...summary,
    prompt: cut(task.row.message.text),
    ...(result !== undefined && { result: cut(result) }),
  };
}

const execStory = (one: BackgroundProcess): TaskStory => ({
  ...execTask(one),
  prompt: cut(one.of.command),
  result: cut(one.of.running.output.text().slice(-MOST_TEXT)),
});

const cut = (text: string): string => Secret.mask(text).slice(0, MOST_TEXT).toWellFormed();

async function cancel(id: string, place: Place): ReturnType<TaskDesk["cancel"]> {
  const found = await find(id, place);
  if (!found) return { found: false, cancelled: false, reason: "there is no such task" };
  const reason = await ("row" in found ? endRow(found, place) : endProcess(found));
  const now = await find(id, place);
  const task = now && ("row" in now ? taskOf(now, place.names) : execTask(now));
  return {
    found: true,
    cancelled: reason === undefined,
    ...(reason !== undefined && { reason }),
    ...(task && { task }),
  };
}

const OVER = "it has ended already";

/** Ends a task of the inbox. Undefined when the task is ended; else the reason why not. */
const endRow = async ({ row }: TaskRow, { end }: Place): Promise<string | undefined> =>
  row.outcome !== undefined || !(await end(row)) ? OVER : undefined;

async function endProcess(one: BackgroundProcess): Promise<string | undefined> {
  if (one.status !== "running") return OVER;
  await one.kill();
  return undefined;
}

/** The facts by which tasks get their names. */
interface TaskNames {
  readonly defaultAgent: AgentId;
  entryOf(key: SessionKey): Readonly<SessionEntry> | undefined;
}

/** The id of a task of the inbox, by its row. */
const taskIdOf = (row: number): string => `task-${row}`;

/** The row in a task's id; undefined for other ids. */
function rowOf(id: string): number | undefined {
  const digits = /^(?:task-|#)?(\d{1,15})$/.exec(id)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

const execIdOf = ({ id }: Pick<BackgroundProcess, "id">): string => `exec-${id}`;

/** A row of the inbox as clients see it. Pure. */
function taskOf(task: TaskRow, names: TaskNames): TaskSummary {
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
function execTask(one: BackgroundProcess): TaskSummary {
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
