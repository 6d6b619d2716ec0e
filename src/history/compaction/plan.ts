import { estimateAll, estimateTextTokens, estimateTokens } from "../../sessions/transcript/tokens.ts";
import type { ChatMessage } from "../../types/run/model.ts";
import type { SessionWindow } from "../../types/session.ts";
import { callsOf } from "../parts.ts";

type Row = SessionWindow["messages"][number];

export interface CutLimits {
  /** Tokens of the newest whole turns that stay as they are. */
  readonly keepTokens: number;
  /** An entry that stays, with all after it: the turn under way. */
  readonly keepFrom?: string | undefined;
  /** Tokens beyond which the last turn may be cut between two of its steps; it stays whole when unset. */
  readonly mostTurn?: number | undefined;
}

export interface Cut {
  readonly before: readonly ChatMessage[];
  readonly firstKeptEntryId: string;
  /** Estimated tokens of what stays. */
  readonly keptTokens: number;
}

/**
 * Where a conversation is cut: whole turns stay, the newest ones that `keepTokens` hold, and the last one however big.
 * A call and its result stay on one side. Undefined when there is nothing before the cut.
 */
export function cutAt(rows: readonly Row[], { keepTokens, keepFrom, mostTurn }: CutLimits): Cut | undefined {
  const latest = keepFrom === undefined ? rows.length : rows.findIndex((row) => row.entryId === keepFrom);
  const messages = rows.map((row) => row.message);
  const turns = turnStarts(messages).filter((at) => at <= latest);
  const starts = mostTurn === undefined ? turns : [...turns, ...stepsOf(messages, turns.at(-1) ?? 0, mostTurn)];
  let at: number | undefined;
  let kept = 0;
  for (let end = rows.length; starts.length > 0; end = at) {
    const start = starts.pop() ?? 0;
    const turn = estimateAll(messages.slice(start, end));
    if (at !== undefined && kept + turn > keepTokens) break;
    at = start;
    kept += turn;
  }
  const first = at === undefined ? undefined : rows[at];
  if (!first || at === undefined || at === 0) return undefined;
  const before = rows.slice(0, at).map((row) => row.message);
  return { before, firstKeptEntryId: first.entryId, keptTokens: kept };
}

/** User messages in a row are one turn; none begins while a call still waits for its result further on. */
const turnStarts = (messages: readonly ChatMessage[]): number[] =>
  startsOf(messages, (message, before) => message.role === "user" && before?.role !== "user");

/** Where the steps of the last turn begin, when it is larger than that. */
function stepsOf(messages: readonly ChatMessage[], turn: number, most: number): number[] {
  const tokens = estimateAll(messages.slice(turn));
  if (tokens <= most) return [];
  return startsOf(messages, (message) => message.role === "assistant").filter((at) => at > turn);
}

function startsOf(
  messages: readonly ChatMessage[],
  begins: (message: ChatMessage, before: ChatMessage | undefined) => boolean,
): number[] {
  const ends = pairEnds(messages);
  let open = -1;
  return messages.flatMap((message, at) => {
    const isStart = begins(message, messages[at - 1]) && at > open;
    open = Math.max(open, ends[at] ?? at);
    return isStart ? [at] : [];
  });
}

/** For each message the place of the last result of its calls; its own place when there is none. */
function pairEnds(messages: readonly ChatMessage[]): number[] {
  const resultAt = new Map<string, number>();
  // From the end: providers use an id again in a later turn, and a call's result is the next one after it.
  const ends = messages.toReversed().map((message, back) => {
    const at = messages.length - 1 - back;
    if (message.role === "toolResult") resultAt.set(message.toolCallId, at);
    const answers = callsOf(message).map((call) => {
      const found = resultAt.get(call.id) ?? at;
      resultAt.delete(call.id);
      return found;
    });
    return Math.max(at, ...answers);
  });
  return ends.toReversed();
}

const BASE_RATIO = 0.4;
const LEAST_RATIO = 0.15;
/** Above this part of the window an average message makes chunks smaller. */
const BIG_AVERAGE = 0.1;
/** Above this part of the window a message is not summarised but only named. */
const OVERSIZED = 0.5;

/** The part of the window that one chunk may take: the larger the messages, the smaller. */
export function chunkRatio(messages: readonly ChatMessage[], window: number): number {
  if (messages.length === 0) return BASE_RATIO;
  const average = estimateAll(messages) / messages.length / window;
  return average <= BIG_AVERAGE ? BASE_RATIO : Math.max(LEAST_RATIO, BASE_RATIO - 2 * average);
}

/** The part of the window that the one call takes when it is to hold all; the rest is for its answer and its wording. */
const WHOLE_RATIO = 0.7;

/**
 * Pieces that are summarised one by one, in order: together they hold every message, oversized ones as a note of their
 * role and size. A call and its result are in one piece.
 */
export function chunk(
  messages: readonly ChatMessage[],
  window: number,
  { inOneCall = false }: { readonly inOneCall?: boolean | undefined } = {},
): readonly (readonly ChatMessage[])[] {
  const ratio = inOneCall ? WHOLE_RATIO : chunkRatio(messages, window);
  const most = Math.max(1, Math.floor(window * ratio));
  const chunks: ChatMessage[][] = [];
  let size = 0;
  for (const group of groupsOf(messages)) {
    const shown = group.map((message) => noted(message, (window * OVERSIZED) / group.length));
    const tokens = estimateAll(shown);
    const last = chunks.at(-1);
    if (last && size + tokens <= most) {
      last.push(...shown);
      size += tokens;
    } else {
      chunks.push(shown);
      size = tokens;
    }
  }
  return chunks;
}

/** Messages that belong together: a call, its results, and the messages between them. */
function groupsOf(messages: readonly ChatMessage[]): readonly (readonly ChatMessage[])[] {
  const groups: ChatMessage[][] = [];
  const ends = pairEnds(messages);
  let open = -1;
  for (const [at, message] of messages.entries()) {
    const last = groups.at(-1);
    if (last && at <= open) last.push(message);
    else groups.push([message]);
    open = Math.max(open, ends[at] ?? at);
  }
  return groups;
}

const ROLE_NAMES = { user: "message of the user", assistant: "message of the assistant", toolResult: "tool result" };

function noted(message: ChatMessage, most: number): ChatMessage {
  const tokens = estimateTokens(message);
  if (tokens <= most) return message;
  const text = `[A ${ROLE_NAMES[message.role]} of about ${tokens} tokens was too large to be summarised.]`;
  if (estimateTextTokens(text) >= tokens) return message;
  const content = [{ type: "text" as const, text }];
  return message.role === "assistant"
    ? { ...message, content: [...content, ...callsOf(message).map((call) => ({ ...call, arguments: {} }))] }
    : { ...message, content };
}
