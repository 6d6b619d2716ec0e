import { askForRest } from "../../harness/failover/continuation.ts";
import { textOf } from "../../history/parts.ts";
import { asksForRest } from "../../types/run/turns.ts";
import { partText } from "../../outbox/render.ts";
import type { Clock } from "../../types/clock.ts";
import type { OutboxRow } from "../../types/journal.ts";
import type { AssistantMessage, ChatMessage } from "../../types/run/model.ts";
import type { Session } from "../../types/session.ts";
import { emptyUsage } from "../../types/run/usage.ts";
import { lettersOf } from "../answer/block-feed.ts";
import type { ResponsePrefix } from "../answer/response-prefix.ts";

interface Turn {
  readonly inboxId: number;
  readonly turnId: string;
  /** What an earlier boot planned for this message. */
  readonly rows: readonly OutboxRow[];
  /** Stands before the first block in the chat, and is no word of the model's. */
  readonly prefix: Pick<ResponsePrefix, "without">;
}

/**
 * Blocks that went to the chat out of an answer whose call a kill cut short become its first part, and the rest is asked
 * for: what was said is not said again. Rejects when the transcript cannot be read or written.
 */
export async function restoreSentText(
  session: Pick<Session, "after" | "append">,
  turn: Turn,
  clock: Clock,
): Promise<void> {
  const entries = await session.after(turn.turnId);
  if (!entries) return;
  const messages = entries.flatMap((entry): ChatMessage[] => (entry.type === "message" ? [entry.message] : []));
  const last = messages.at(-1);
  // Behind a finished answer nothing is missing; behind a question for the rest it was restored before.
  if (last?.role === "assistant" || asksForRest(last)) return;
  const lost = unwritten(blocksOf(turn), messages);
  if (lost.length === 0) return;
  const at = clock.now();
  await session.append({ type: "message", message: brokenOff(lost.join("\n\n"), at) });
  await session.append({ type: "message", message: askForRest(at) }, { durable: true });
}

/** The texts of the blocks in their order. A second series belongs to an answer that was other than the first. */
function blocksOf({ inboxId, rows, prefix }: Turn): readonly string[] {
  if (rows.some(({ replyKey }) => replyKey.startsWith(`in:${inboxId}:again`))) return [];
  const blocks: string[] = [];
  for (let own = rowsOf(rows, inboxId, 0); own.length > 0; own = rowsOf(rows, inboxId, blocks.length))
    blocks.push(own.map(({ body }) => partText(body)).join("\n"));
  const [first, ...others] = blocks;
  if (first === undefined) return [];
  return [prefix.without(first), ...others];
}

const rowsOf = (rows: readonly OutboxRow[], inboxId: number, block: number): readonly OutboxRow[] =>
  rows.filter(({ replyKey }) => replyKey === `in:${inboxId}:block:${block}`).toSorted((a, b) => a.part - b.part);

/** The blocks behind those that the transcript has. */
function unwritten(blocks: readonly string[], messages: readonly ChatMessage[]): readonly string[] {
  const written = lettersOf(messages.map((message) => (message.role === "assistant" ? textOf(message) : "")).join(""));
  let at = 0;
  const known = blocks.findIndex((block) => {
    const words = lettersOf(block);
    const own = ownWords(words, written.slice(0, at), written.slice(at));
    at += own ?? 0;
    return words !== "" && own === undefined;
  });
  return known < 0 ? [] : blocks.slice(known);
}

/** How many of a block's words go on from the written ones; before them stands the head of a table that was cut. */
function ownWords(words: string, said: string, rest: string): number | undefined {
  for (let at = 0; at < words.length && said.includes(words.slice(0, at)); at += 1)
    if (rest.startsWith(words.slice(at))) return words.length - at;
  return undefined;
}

const brokenOff = (text: string, timestamp: number): AssistantMessage => ({
  role: "assistant",
  content: [{ type: "text", text }],
  api: "openclaw",
  provider: "openclaw",
  model: "interrupted",
  usage: emptyUsage(),
  stopReason: "error",
  errorMessage: "The gateway was stopped in the middle of this message.",
  timestamp,
});
