import { timestamp } from "../../../prompt/timestamp.ts";
import { plainMarkdown } from "../../../utils/text/plain-markdown.ts";
import { shorten } from "../../../utils/text/shorten.ts";
import type { SessionKey } from "../../../types/ids.ts";
import type { CommandAnswer, CommandContext } from "../kit/command.ts";
import { conversationLines, type ConversationLine } from "./conversation.ts";

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
export function saidText(
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
