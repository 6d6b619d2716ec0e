import { saidIn } from "../../dispatch/commands/reports/conversation.ts";
import type { TaskLook, TaskRow } from "../../store/journal/tasks.ts";
import type { BackgroundProcess } from "../../tools/process/background-process.ts";
import type { InboxRow } from "../../types/journal.ts";
import { Secret } from "../../types/secret.ts";
import type { TranscriptReading } from "../../types/session.ts";
import type { TaskDesk, TaskFilter, TaskStory, TaskSummary } from "../../types/subagent/task.ts";
import { execIdOf, execTask, rowOf, type TaskNames, taskOf } from "./view.ts";

/** Characters of a prompt and of a result. */
const MOST_TEXT = 8000;
/** Entries of a transcript in which the last answer is looked for. */
const MOST_ENTRIES = 20;

interface Place {
  readonly journal: { readonly tasks: TaskLook };
  readonly names: TaskNames;
  readonly sessions: Pick<TranscriptReading, "history">;
  /** Ends a row of the inbox and its run; false when it had its outcome. */
  end(row: InboxRow): Promise<boolean>;
  processes(): readonly BackgroundProcess[];
}

/** The ledger of detached work: rows of the inbox, and the commands that run in the background of this process. */
export function openTasks(place: Place): TaskDesk {
  const { journal, names, processes } = place;
  return {
    async list(filter) {
      // They are only in memory and few, so the first page has all of them.
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
  const result = saidIn(entries, true).findLast(({ by }) => by === "agent")?.text;
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

/** Undefined when it is ended; else why not. */
const endRow = async ({ row }: TaskRow, { end }: Place): Promise<string | undefined> =>
  row.outcome !== undefined || !(await end(row)) ? OVER : undefined;

async function endProcess(one: BackgroundProcess): Promise<string | undefined> {
  if (one.status !== "running") return OVER;
  await one.kill();
  return undefined;
}
