import { timestamp } from "../../../prompt/timestamp.ts";
import type { SessionKey } from "../../../types/ids.ts";
import type { SessionRow } from "../../../types/session.ts";
import { codeSpan } from "../../../utils/text/code-span.ts";
import { plainMarkdown } from "../../../utils/text/plain-markdown.ts";
import { type CommandAnswer, type CommandContext, shownKey } from "../kit/command.ts";
import { lastRunLine } from "../kit/last-run.ts";
import { usedTokensText } from "../kit/status.ts";
import { conversationLines, type ConversationLine } from "./conversation.ts";
import { shorten } from "../../../utils/text/shorten.ts";
import type { SubagentActs, SessionAsker } from "../../../types/subagent/spawn.ts";
import { chatOf } from "../../../sessions/chat-of.ts";

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
    `Session: ${shownKey(child.key, context.ports)}`,
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

const DEFAULT_TURNS = 10;
export const MOST_TURNS = 50;
/** The most UTF-16 units of one text. */
const MOST_CHARS = 300;
/** Entries that are read for one turn at first; a turn with many tool calls has more. */
const ENTRIES_A_TURN = 8;
const MOST_ENTRIES = 4000;

/** Shows the last turns of the conversation. */
export async function showHistory(context: CommandContext): Promise<CommandAnswer> {
  const turns = turnsIn(context.args);
  if (turns === undefined) return { text: `Use a number of turns from 1 to ${MOST_TURNS}.` };
  const said = await lastTurns(context, turns);
  if (said.length === 0) return { text: "Nothing has been said in this conversation yet." };
  return { text: saidText(said, context, context.key) };
}

function turnsIn(args: string): number | undefined {
  const word = args.trim();
  if (word === "") return DEFAULT_TURNS;
  const count = /^\d{1,4}$/.test(word) ? Number(word) : 0;
  return count === 0 ? undefined : Math.min(count, MOST_TURNS);
}

/** The lines of the last turns. Reads further back until there are enough turns, no more entries, or `MOST_ENTRIES`. */
async function lastTurns({ key, ports }: CommandContext, turns: number): Promise<readonly ConversationLine[]> {
  for (let limit = turns * ENTRIES_A_TURN; ; limit *= 4) {
    const { entries, hasMore } = await ports.storage.sessions.history(key, Math.min(limit, MOST_ENTRIES));
    const said = conversationLines(entries);
    const opening = said.flatMap(({ opens }, index) => (opens === true ? [index] : []));
    const isEnough = opening.length >= turns;
    if (isEnough || !hasMore || limit >= MOST_ENTRIES) return said.slice(isEnough ? opening.at(-turns) : 0);
  }
}

/** The lines of a session as Markdown, in which no text of others is markup. */
function saidText(
  said: readonly ConversationLine[],
  { message, ports }: Pick<CommandContext, "message" | "ports">,
  key: SessionKey,
): string {
  const settings = ports.settings();
  const id = settings.agentOf(key);
  const agent = settings.agents.get(id);
  const names = { agent: agent?.name ?? id, person: message.from.chat.kind === "direct" ? "You" : "Someone" };
  return said.map((line) => lineText(line, names, agent?.timezone ?? "UTC")).join("\n");
}

function lineText(
  { at, by, name, text }: ConversationLine,
  names: { agent: string; person: string },
  zone: string,
): string {
  const line = plainMarkdown(shorten(text.replaceAll(/\s+/g, " "), MOST_CHARS, () => " … "));
  const who = plainMarkdown(by === "agent" ? names.agent : (name ?? names.person));
  return `${timestamp(at, zone).slice(0, 16)} ${by === "tool" ? `🛠️ ${who}` : who}${line === "" ? "" : `: ${line}`}`;
}

const OWNERS_ONLY = "Only an owner starts subagents or gives them messages.";
const NOT_HERE = "Subagents can only be started by the running gateway.";

type Say = (context: CommandContext) => Promise<string>;

/** The words of `/subagents` that give a subagent something to do. */
const SAYS: ReadonlyMap<string, Say> = new Map([
  ["spawn", spawn],
  ["send", (context: CommandContext) => say("send", context)],
  ["steer", (context: CommandContext) => say("steer", context)],
]);

async function spawn(context: CommandContext): Promise<string> {
  const [agentId, said = ""] = wordsOf(context);
  const { task, ...how } = howIn(said);
  if (agentId === undefined || task === "")
    return "Use /subagents spawn <agent> <task>, with --model <model> and --thinking <level> behind it if you like.";
  return withActs(context, async (acts) => {
    const answer = await acts.spawn({ task, agentId, ...how }, askerOf(context));
    if (answer.status !== "accepted") return answer.error;
    const note = answer.note === undefined ? "" : ` ${answer.note}`;
    return `Started. Its result is told here.${note}`;
  });
}

/** The task, and the model and the level that are named after it. */
function howIn(said: string): { readonly task: string; readonly model?: string; readonly thinking?: string } {
  const [, before = "", name, value] = /^([^]*?)(?:^|\s)--(model|thinking)[ =](\S+)\s*$/.exec(said) ?? [];
  if (name === undefined) return { task: said.trim() };
  return { ...howIn(before), [name]: value };
}

async function say(how: "send" | "steer", context: CommandContext): Promise<string> {
  const [target, message] = wordsOf(context);
  if (target === undefined || message === undefined) return `Use /subagents ${how} <number, label or id> <message>.`;
  return withActs(context, async (acts) => {
    const act = await acts.say(how, { target, message }, askerOf(context));
    if (typeof act === "string") return act;
    const { label, dropped } = act;
    if (how === "send") return `${label}: gets it next.`;
    const lost = dropped === undefined ? "" : ` ${droppedText(dropped)}`;
    return `${label}: begins again with it.${lost}`;
  });
}

const droppedText = (count: number): string =>
  count === 1 ? "1 message that waited for it is dropped." : `${count} messages that waited for it are dropped.`;

async function withActs(
  { isOwner, ports }: CommandContext,
  work: (acts: SubagentActs) => Promise<string>,
): Promise<string> {
  if (!isOwner) return OWNERS_ONLY;
  const acts = ports.program.desks.get("subagents");
  return acts ? work(acts) : NOT_HERE;
}

/** The word after the first one, and the text after that. */
function wordsOf({ args }: CommandContext): readonly [string | undefined, string | undefined] {
  const [, name, text] = /^\s*\S+\s+(\S+)\s+(\S[^]*)$/.exec(args) ?? [];
  return [name, text?.trim()];
}

/** The person who gave the command, whose conversation gets the end of the subagent. */
function askerOf({ key, message, isOwner, ports }: CommandContext): SessionAsker {
  const { agentOf, defaultAgent } = ports.settings();
  const { options, from } = message;
  const to = options?.operator === true ? chatOf(key, ports.storage.sessions.peek(key), defaultAgent) : from;
  return { sessionKey: key, agentId: agentOf(key), isOwner, isSandboxed: false, depth: 0, ...(to && { to }) };
}
