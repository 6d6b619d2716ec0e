import type { Session } from "../../types/session.ts";
import { addressed } from "../chats.ts";
import { runIdOf } from "../turn-facts.ts";
import { settleOpenSpawns, endCall, openCalls } from "./open-calls.ts";
import type { DispatchPorts } from "../ports.ts";
import { ResponsePrefix } from "../answer/response-prefix.ts";
import type { PreparedTurn } from "../prepared-turn.ts";
import { errorResult } from "../../tools/define.ts";
import { MESSAGE_TOOL, postedOf, postedResult, callKeyPrefix } from "../../tools/message/message-result.ts";
import type { Clock } from "../../types/clock.ts";
import type { OutboxRow } from "../../types/journal.ts";
import type { ToolCallContent, AssistantMessage, ChatMessage } from "../../types/run/model.ts";
import type { ToolResult } from "../../types/run/tool.ts";
import { askForRest } from "../../harness/failover/continuation.ts";
import { textOfAnswer } from "../../history/parts.ts";
import { asksForRest } from "../../types/run/turns.ts";
import { partText } from "../../outbox/render.ts";
import { emptyUsage } from "../../types/run/usage.ts";
import { lettersOf } from "../answer/block-feed.ts";

/**
 * Adds to the transcript the messages that were sent and the subagents that were started for this turn before a
 * restart, but not recorded.
 */
export async function noteEarlierActs(
  prepared: PreparedTurn,
  session: Session,
  ports: Pick<DispatchPorts, "storage" | "clock" | "settings">,
): Promise<void> {
  const {
    rows: [row],
    turn,
    message,
    agent,
  } = prepared;
  if (!row || row.attempts === 0) return;
  const {
    storage: { journal },
    clock,
    settings,
  } = ports;
  const rows = await journal.outbox.of(row.id);
  const sent = { inboxId: row.id, turnId: turn.entryId, rows };
  const prefix = new ResponsePrefix(settings().chat((addressed(message) ?? message).from).responsePrefix, agent);
  await settleOpenSends(session, sent, clock);
  await settleOpenSpawns(session, { runId: runIdOf(row), turnId: turn.entryId }, { inbox: journal.inbox, clock });
  await restoreSentText(session, { ...sent, prefix }, clock);
}

/**
 * Gives calls of the message tool that had no result before a restart the result that the outbox has, so that the model
 * sends nothing twice. Rejects when the transcript cannot be read or written.
 */
async function settleOpenSends(
  session: Pick<Session, "after" | "append">,
  turn: { readonly inboxId: number; readonly turnId: string; readonly rows: readonly OutboxRow[] },
  clock: Clock,
): Promise<void> {
  for (const call of (await openCalls(session, turn.turnId)).filter(isSend)) {
    const name = callKeyPrefix(turn.inboxId, call.id);
    const rows = turn.rows.filter(({ replyKey }) => replyKey.startsWith(name));
    await endCall(session, call, { result: resultOf(rows), at: clock.now() });
  }
}

const isSend = ({ name, arguments: args }: ToolCallContent): boolean =>
  name === MESSAGE_TOOL && (args["action"] ?? "send") === "send";

/** The result of a call that sends. The outbox has every message before its platform has it. */
function resultOf(rows: readonly OutboxRow[]): ToolResult {
  const [first] = rows;
  return first ? postedResult(postedOf(rows), first.to) : errorResult("The gateway stopped before it was sent.");
}

interface Turn {
  readonly inboxId: number;
  readonly turnId: string;
  /** The rows that were planned for this message before the restart. */
  readonly rows: readonly OutboxRow[];
  /** The text before the first block in the chat, which the model did not write. */
  readonly prefix: Pick<ResponsePrefix, "without">;
}

/**
 * When a kill interrupts an answer whose blocks are partly in the chat, adds these blocks to the transcript and asks
 * the model for the rest, so that nothing is sent twice. Rejects when the transcript cannot be read or written.
 */
async function restoreSentText(session: Pick<Session, "after" | "append">, turn: Turn, clock: Clock): Promise<void> {
  const entries = await session.after(turn.turnId);
  if (!entries) return;
  const messages = entries.flatMap((entry): ChatMessage[] => (entry.type === "message" ? [entry.message] : []));
  const last = messages.at(-1);
  // After a finished answer nothing is missing. After a request for the rest the text was restored before.
  if (last?.role === "assistant" || asksForRest(last)) return;
  const lost = unwritten(blocksOf(turn), messages);
  if (lost.length === 0) return;
  const at = clock.now();
  await session.append({ type: "message", message: brokenOff(lost.join("\n\n"), at) });
  await session.append({ type: "message", message: askForRest(at) }, { durable: true });
}

/** The texts of the blocks in order. None when a second series exists: that answer differed from the first. */
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

/** The blocks after the blocks that the transcript has. */
function unwritten(blocks: readonly string[], messages: readonly ChatMessage[]): readonly string[] {
  const written = lettersOf(
    messages.map((message) => (message.role === "assistant" ? textOfAnswer(message) : "")).join(""),
  );
  let at = 0;
  const known = blocks.findIndex((block) => {
    const words = lettersOf(block);
    const own = ownLetters(words, written.slice(0, at), written.slice(at));
    at += own ?? 0;
    return words !== "" && own === undefined;
  });
  return known < 0 ? [] : blocks.slice(known);
}

/** How many letters of a block continue the written text. A block may begin with the repeated head of a table. */
function ownLetters(words: string, said: string, rest: string): number | undefined {
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
