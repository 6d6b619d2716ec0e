import { timestamp } from "../../../prompt/timestamp.ts";
import type { SessionKey } from "../../../types/ids.ts";
import type { SessionRow } from "../../../types/session.ts";
import { codeSpan } from "../../../utils/text/code-span.ts";
import { plainMarkdown } from "../../../utils/text/plain-markdown.ts";
import type { CommandAnswer, CommandContext } from "../kit/command.ts";
import { lastRunLine } from "../kit/last-run.ts";
import { usedTokensText } from "../kit/status.ts";
import { conversationLines } from "./conversation.ts";
import { saidText } from "./history.ts";
import { SAYS } from "./subagent-says.ts";

/** Milliseconds for which a subagent that does nothing any more is listed. */
const LATELY_MS = 24 * 3_600_000;
const MOST_LISTED = 20;
/** Entries of the transcript that `log` reads. */
const MOST_LOGGED = 40;

/** A subagent of the conversation, or of one of its subagents. */
interface Child extends SessionRow {
  readonly isRunning: boolean;
}

type Act = (child: Child, context: CommandContext) => Promise<string>;

const ACTS: ReadonlyMap<string, Act> = new Map([
  ["stop", stopOne],
  ["kill", stopOne],
  ["log", logText],
  ["info", infoText],
]);

/** Lists the subagents of the conversation, starts or shows one, ends its runs, or gives it a message. */
export async function showSubagents(context: CommandContext): Promise<CommandAnswer> {
  const [word = "", ...names] = context.args.trim().toLowerCase().split(/\s+/);
  if (word === "" || word === "list") return { text: listText(childrenOf(context), context) };
  const said = SAYS.get(word);
  return { text: said ? await said(context) : await actOn(word, names.join(" "), context) };
}

async function actOn(word: string, name: string, context: CommandContext): Promise<string> {
  const children = childrenOf(context);
  const act = ACTS.get(word);
  if (!act || name === "") return USAGE;
  if (isStop(word) && name === "all") return stopAll(children, context);
  const [child, ...others] = named(name, children);
  if (!child) return `This conversation has no subagent "${name}".`;
  if (others.length > 0) return `Several subagents are called "${name}": write the number, or more of the id.`;
  return act(child, context);
}

const USAGE =
  "Use list; info, log or stop (kill) with the number, label or id of a subagent; stop all; send or steer with a subagent and a message; or " +
  "spawn with an agent and a task.";

const isStop = (word: string): boolean => word === "stop" || word === "kill";

/** The subagents with this name: the number in the list, the label or the key, or the beginning of the id. */
function named(name: string, children: readonly Child[]): readonly Child[] {
  const isNamed = ({ key, entry }: Child, at: number) =>
    [String(at + 1), `#${at + 1}`, key.toLowerCase(), entry.label?.toLowerCase()].includes(name);
  const exact = children.filter(isNamed);
  return exact.length > 0 ? exact : children.filter(({ key }) => nameOf(key).toLowerCase().startsWith(name));
}

/** The subagents that run, then the subagents that were used lately; the latest first. */
function childrenOf({ key, ports, running }: CommandContext): readonly Child[] {
  const busy = running();
  const parents = new Set<string>([key]);
  const found: Child[] = [];
  // A subagent may be newer than the subagents that it asked for, so the rows are read until none is added.
  const rows = ports.storage.sessions.list().filter(({ entry }) => entry.spawnedBy !== undefined);
  for (let more = rows; ;) {
    const next = more.filter(({ entry }) => parents.has(entry.spawnedBy ?? ""));
    if (next.length === 0) break;
    for (const row of next) parents.add(row.key);
    found.push(...next.map((row) => ({ ...row, isRunning: busy.has(row.key) })));
    more = more.filter((row) => !parents.has(row.key));
  }
  const since = ports.clock.now() - LATELY_MS;
  return found
    .filter(({ isRunning, entry }) => isRunning || entry.updatedAt >= since)
    .toSorted((a, b) => Number(b.isRunning) - Number(a.isRunning) || b.entry.updatedAt - a.entry.updatedAt);
}

/** The part of a subagent's key by which people distinguish it from others. */
const nameOf = (key: SessionKey): string => key.slice(key.lastIndexOf(":") + 1);

function listText(children: readonly Child[], context: CommandContext): string {
  if (children.length === 0) return "This conversation has no subagents that run or have run lately.";
  const lines = children.slice(0, MOST_LISTED).map((child, at) => `${at + 1}. ${lineOf(child, context)}`);
  const left = children.length - lines.length;
  return ["Subagents:", "", ...lines, ...(left > 0 ? [`… and ${left} more`] : [])].join("\n");
}

function lineOf({ key, entry, isRunning }: Child, { ports }: CommandContext): string {
  const settings = ports.settings();
  const id = settings.agentOf(key);
  const label = entry.label === undefined ? "" : ` ${plainMarkdown(entry.label)}`;
  const state = isRunning ? "running" : `ended, last used ${timeOf(entry.updatedAt, id, settings)}`;
  const by = entry.spawnedByPlugin === undefined ? "" : `, asked for by ${plainMarkdown(entry.spawnedByPlugin)}`;
  return `${codeSpan(nameOf(key))}${label}: ${state}, agent ${id}${by}`;
}

function timeOf(at: number, id: ReturnType<Settings["agentOf"]>, { agents }: Settings): string {
  return timestamp(at, agents.get(id)?.timezone ?? "UTC").slice(0, 16);
}
type Settings = ReturnType<CommandContext["ports"]["settings"]>;

async function infoText(child: Child, context: CommandContext): Promise<string> {
  const last = await context.ports.storage.journal.runs.last(child.key);
  return [
    lineOf(child, context),
    `Session: ${child.key}`,
    `Tokens: ${usedTokensText(child.entry)}`,
    ...(last ? [lastRunLine(last, context.isOwner)] : []),
  ].join("\n");
}

async function logText({ key }: Child, context: CommandContext): Promise<string> {
  const { entries, hasMore } = await context.ports.storage.sessions.history(key, MOST_LOGGED);
  const said = conversationLines(entries, true);
  if (said.length === 0) return "It has said nothing yet.";
  return `${hasMore ? "…\n" : ""}${saidText(said, context, key)}`;
}

async function stopOne({ key, entry, isRunning }: Child, { stop }: CommandContext): Promise<string> {
  const ended = isRunning ? await stop(key) : [];
  const name = entry.label === undefined ? codeSpan(nameOf(key)) : plainMarkdown(entry.label);
  return ended.length === 0 ? `${name} is not running.` : `⏹ ${name} is stopped.`;
}

async function stopAll(children: readonly Child[], { stop }: CommandContext): Promise<string> {
  const running = children.filter(({ isRunning }) => isRunning);
  await Promise.all(running.map(({ key }) => stop(key)));
  return running.length === 0 ? "No subagent is running." : `⏹ Stopped: ${running.length}.`;
}
