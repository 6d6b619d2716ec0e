import { existsSync } from "node:fs";
import type { z } from "zod";
import { taskAnswers, type TaskDesk, type TaskStory } from "../../../../types/subagent/task.ts";
import type { TaskStatus } from "../../../../types/subagent/task-status.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { defined } from "../../../../utils/defined.ts";
import { writeJson, type Io } from "../../io.ts";
import { pairs, table } from "../../table.ts";
import { showDuration } from "../../../../utils/time/duration.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { BY_OPERATOR } from "../../../../store/database/counts.ts";
import type { OpenJournal } from "../../../../store/journal/journal.ts";
import { openJournalToRead } from "../../../../store/journal/read-only.ts";
import type { TaskLook } from "../../../../store/journal/tasks.ts";
import { agentId, DEFAULT_AGENT } from "../../../../types/ids.ts";
import type { InboxRow } from "../../../../types/journal.ts";
import { journalPath } from "../../../config/paths.ts";
import { openTasks } from "../../../tasks/desk.ts";
import { hasGateway } from "../../address.ts";
import { callOnce } from "../../call-gateway.ts";
import { answerHere, readState } from "../../state.ts";
import { withJournal } from "../../with-journal.ts";

interface Json {
  readonly json?: boolean;
}

export interface TaskListFlags extends Json {
  readonly status?: TaskStatus;
  readonly agent?: string;
  readonly session?: string;
  readonly limit: number;
}

/** Lists detached work, the latest first. */
export async function tasksList(io: Io, flags: TaskListFlags): Promise<number> {
  const tasks = await tasksOf(io, flags);
  if (flags.json === true) writeJson(io, { count: tasks.length, tasks });
  else if (tasks.length === 0) io.out(isNarrowed(flags) ? "No task fits these flags.\n" : "No tasks.\n");
  else io.out(table(io, ["TASK", "KIND", "STATUS", "AGENT", "AGE", "TOOK", "TITLE"], tasks.map(cells)));
  return 0;
}

const isNarrowed = ({ status, agent, session }: TaskListFlags): boolean =>
  [status, agent, session].some((flag) => flag !== undefined);

async function tasksOf(io: Io, { status, agent, session, limit }: TaskListFlags): Promise<readonly TaskStory[]> {
  const params = { limit, ...defined({ status, agentId: agent, sessionKey: session }) };
  const here = (desk: TaskDesk) =>
    desk.list({ limit, statuses: status && [status], agentId: agent, sessionKey: session });
  return (await askTasks(io, { method: "tasks.list", params, shape: taskAnswers.list, here })).tasks;
}

function cells({ id, kind, status, agentId = "", createdAt, startedAt, endedAt, title }: TaskStory): readonly string[] {
  const now = Date.now();
  const took = startedAt === undefined ? "" : showDuration((endedAt ?? now) - startedAt);
  const age = createdAt === undefined ? "" : showDuration(now - createdAt);
  return [id, kind, status.replace("_", " "), agentId, age, took, withoutTerminalControls(title)];
}

/** Shows one task with what it was asked and what it answered. Throws NOT_FOUND. */
export async function tasksShow(io: Io, id: string, { json }: Json): Promise<number> {
  const { task } = await askTasks(io, {
    method: "tasks.get",
    params: { taskId: id },
    shape: taskAnswers.get,
    here: async (desk) => {
      const task = await desk.get(id);
      if (!task) throw noTask(id);
      return { task };
    },
  });
  if (json === true) writeJson(io, task);
  else io.out(storyText(io, task));
  return 0;
}

function storyText(io: Io, task: TaskStory): string {
  const at = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toLocaleString("sv-SE"));
  const last = task.lastToolName === undefined ? "" : `, ${task.lastToolName} last`;
  const tools = task.toolUseCount === undefined ? undefined : `${task.toolUseCount} calls${last}`;
  const head = pairs(io, [
    ["Task", task.id],
    ["Kind", task.kind],
    ["Title", withoutTerminalControls(task.title)],
    ["Status", task.status.replace("_", " ")],
    ["Why", task.error ?? task.terminalSummary],
    ["Agent", task.agentId],
    ["Asked for by", task.sessionKey],
    ["Works in", task.childSessionKey],
    ["Job", task.sourceId],
    ["Run", task.runId],
    ["Created", at(task.createdAt)],
    ["Started", at(task.startedAt)],
    ["Ended", at(task.endedAt)],
    ["Tools", tools],
    ["Delivery", task.deliveryStatus?.replace("_", " ")],
  ]);
  const part = (name: string, said = "") => (said === "" ? "" : `\n${name}:\n${withoutTerminalControls(said)}\n`);
  return `${head}${part("Asked", task.prompt)}${part("Answered", task.result)}`;
}

/** Ends a task that has not ended. Exits with 1 when it was not ended. Throws NOT_FOUND. */
export async function tasksCancel(io: Io, id: string, { json }: Json): Promise<number> {
  const done = await askTasks(io, {
    method: "tasks.cancel",
    params: { taskId: id },
    shape: taskAnswers.cancel,
    changes: true,
    here: (desk) => desk.cancel(id),
  });
  if (!done.found) throw noTask(id);
  if (json === true) writeJson(io, done);
  else if (done.cancelled) io.out(`${id} is cancelled.\n`);
  else io.err(`${id} was not cancelled: ${done.reason}.\n`);
  return done.cancelled ? 0 : 1;
}

const noTask = (id: string): OpenClawError =>
  new OpenClawError("NOT_FOUND", { message: `There is no task ${id}.`, fix: "See openclaw tasks list." });

/** Milliseconds after which a task should have begun, and ended. */
const LATE_MS = 10 * 60_000;
const LONG_MS = 60 * 60_000;
const MOST_AUDITED = 500;

interface Finding {
  readonly code: "stale_queued" | "stale_running" | "delivery_failed" | "failed";
  readonly taskId: string;
  readonly message: string;
}

export interface AuditFlags extends Json {
  readonly agent?: string;
}

/** Looks for tasks that need a person. Exits with 1 when there are any. */
export async function tasksAudit(io: Io, { agent, json }: AuditFlags): Promise<number> {
  const tasks = await tasksOf(io, { limit: MOST_AUDITED, ...defined({ agent }) });
  const findings = tasks.flatMap((task) => findingsIn(task, Date.now()));
  if (json === true) writeJson(io, { tasks: tasks.length, findings });
  else if (findings.length === 0) io.out(`Nothing is wrong with the last ${tasks.length} tasks.\n`);
  else
    io.out(
      table(
        io,
        ["TASK", "FINDING", ""],
        findings.map((one) => [one.taskId, one.code, one.message]),
      ),
    );
  return findings.length > 0 ? 1 : 0;
}

const DAY_MS = 24 * 60 * 60_000;

function findingsIn(task: TaskStory, now: number): readonly Finding[] {
  const found = OPEN.has(task.status) ? whyLate(task, now) : whyBad(task, now);
  return found ? [{ ...found, taskId: task.id }] : [];
}

type Reason = Omit<Finding, "taskId">;

const OPEN: ReadonlySet<TaskStatus> = new Set<TaskStatus>(["queued", "running"]);

function whyLate({ status, createdAt = 0, startedAt = 0 }: TaskStory, now: number): Reason | undefined {
  const isQueued = status === "queued";
  const age = now - (isQueued ? createdAt : startedAt);
  if (age <= (isQueued ? LATE_MS : LONG_MS)) return undefined;
  return isQueued
    ? { code: "stale_queued", message: `has waited for ${showDuration(age)}` }
    : { code: "stale_running", message: `has run for ${showDuration(age)}` };
}

function whyBad({ status, endedAt = 0, error, deliveryStatus }: TaskStory, now: number): Reason | undefined {
  if (now - endedAt > DAY_MS) return undefined;
  if (status === "failed" || status === "timed_out")
    return { code: "failed", message: withoutTerminalControls(error ?? "it took too long") };
  if (deliveryStatus !== "failed") return undefined;
  return { code: "delivery_failed", message: "its answer did not arrive, or may not have" };
}

interface Question<T> {
  readonly method: string;
  readonly params: object;
  readonly shape: z.ZodType<T>;
  /** True for a command that writes into the journal. */
  readonly changes?: boolean;
  here(desk: TaskDesk): Promise<unknown>;
}

/** The gateway's answer, or that of the journal when none runs. */
async function askTasks<T>(io: Io, question: Question<T>): Promise<T> {
  const state = await readState(io);
  if (hasGateway(io, state)) return callOnce(io, state, question);
  const path = journalPath(state.paths);
  const answer = async (desk: TaskDesk) => answerHere(question.shape, await question.here(desk), state);
  if (!existsSync(path)) return answer(EMPTY);
  if (question.changes === true)
    return withJournal(path, (journal) => answer(deskOver(journal, (row) => endIn(journal, row))));
  const journal = await openJournalToRead(path);
  try {
    return await answer(deskOver(journal, async () => false));
  } finally {
    await journal.close();
  }
}

async function endIn({ inbox }: OpenJournal, { id }: InboxRow): Promise<boolean> {
  await inbox.finish([id], { kind: "dropped", why: BY_OPERATOR });
  return true;
}

/** Without a gateway no transcript is read, and no command runs in the background. */
const deskOver = ({ tasks }: { readonly tasks: TaskLook }, end: (row: InboxRow) => Promise<boolean>): TaskDesk =>
  openTasks({
    journal: { tasks },
    names: { defaultAgent: agentId(DEFAULT_AGENT), entryOf: () => undefined },
    sessions: { history: async () => ({ entries: [], hasMore: false }) },
    end,
    processes: () => [],
  });

const EMPTY: TaskDesk = {
  list: async () => ({ tasks: [] }),
  get: async () => undefined,
  cancel: async () => ({ found: false, cancelled: false }),
};
