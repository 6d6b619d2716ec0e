import type { TaskDesk, TaskSummary } from "../../../types/subagent/task.ts";
import type { TaskStatus } from "../../../types/subagent/task-status.ts";
import { codeSpan } from "../../../utils/text/code-span.ts";
import { plainMarkdown } from "../../../utils/text/plain-markdown.ts";
import type { CommandAnswer, CommandContext } from "../kit/command.ts";

const MOST_LISTED = 15;
const OPEN: readonly TaskStatus[] = ["queued", "running"];

/**
 * Lists the background tasks of the conversation, shows one, or ends it. Only owners find tasks of other conversations.
 */
export async function showTasks(context: CommandContext): Promise<CommandAnswer> {
  const desk = context.ports.program.desks.get("tasks");
  if (!desk) return { text: "This gateway keeps no list of tasks." };
  const [word = "list", id = ""] = context.args
    .trim()
    .split(/\s+/)
    .filter((part) => part !== "");
  const list = LISTS.get(word);
  if (list) return { text: await listText(desk, list, context) };
  const act = ACTS.get(word);
  if (!act || id === "") return { text: "Use /tasks, /tasks all, or show or cancel with the id of a task." };
  const task = await findOwn(desk, id, context);
  return { text: task ? await act(desk, task) : `This conversation has no task ${codeSpan(id)}.` };
}

const LISTS: ReadonlyMap<string, { readonly isAll: boolean }> = new Map([
  ["list", { isAll: false }],
  ["all", { isAll: true }],
]);

const ACTS: ReadonlyMap<string, (desk: TaskDesk, task: TaskSummary) => Promise<string>> = new Map([
  ["show", storyText],
  ["cancel", cancelText],
]);

async function listText(
  desk: TaskDesk,
  { isAll }: { readonly isAll: boolean },
  { key, isOwner }: CommandContext,
): Promise<string> {
  const scope = isAll && isOwner ? {} : { sessionKey: key };
  const { tasks: open } = await desk.list({ ...scope, statuses: OPEN, limit: MOST_LISTED });
  const { tasks: latest } = await desk.list({ ...scope, limit: MOST_LISTED });
  const ended = latest.filter(({ status }) => !OPEN.includes(status));
  const shown = [...open, ...ended].slice(0, MOST_LISTED);
  return shown.length === 0 ? "There are no tasks here." : ["Tasks:", "", ...shown.map(lineOf)].join("\n");
}

const lineOf = ({ id, kind, status, title }: TaskSummary): string =>
  `• ${codeSpan(id)} ${status.replace("_", " ")}: ${plainMarkdown(title)} (${kind})`;

async function findOwn(desk: TaskDesk, id: string, { key, isOwner }: CommandContext): Promise<TaskSummary | undefined> {
  const task = await desk.get(id);
  const isOwn = task?.sessionKey === key || task?.childSessionKey === key;
  return isOwn || isOwner ? task : undefined;
}

async function storyText(desk: TaskDesk, { id }: TaskSummary): Promise<string> {
  const task = await desk.get(id);
  if (!task) return `The task ${codeSpan(id)} is gone.`;
  const parts = [
    lineOf(task),
    ...(task.error === undefined ? [] : [`Error: ${plainMarkdown(task.error)}`]),
    ...(task.terminalSummary === undefined ? [] : [plainMarkdown(task.terminalSummary)]),
    ...(task.toolUseCount === undefined
      ? []
      : [`Tools: ${task.toolUseCount} calls${task.lastToolName === undefined ? "" : `, ${task.lastToolName} last`}`]),
    ...(task.result === undefined ? [] : ["", task.result]),
  ];
  return parts.join("\n");
}

async function cancelText(desk: TaskDesk, { id }: TaskSummary): Promise<string> {
  const { cancelled, reason = "" } = await desk.cancel(id);
  return cancelled ? `⏹ ${codeSpan(id)} is cancelled.` : `${codeSpan(id)} was not cancelled: ${reason}.`;
}
