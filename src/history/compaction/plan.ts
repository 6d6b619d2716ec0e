import { estimateAll, estimateTextTokens, estimateTokens } from "../../sessions/transcript/tokens.ts";
import type { ChatMessage } from "../../types/run/model.ts";
import type { SessionWindow } from "../../types/session.ts";
import { callsOf } from "../parts.ts";

type Row = SessionWindow["messages"][number];

export interface CutLimits {
  /** Tokens of the newest whole turns that are not summarised. */
  readonly keepTokens: number;
  /** The entry of the running turn. It stays, and so does everything after it. */
  readonly keepFrom?: string | undefined;
  /** Tokens above which the last turn may be cut between two of its steps. When unset it is never cut. */
  readonly mostTurn?: number | undefined;
}

export interface CompactionCut {
  readonly before: readonly ChatMessage[];
  readonly firstKeptEntryId: string;
  /** Estimated tokens of the part that stays. */
  readonly keptTokens: number;
}

/**
 * Decides where a conversation is cut. The newest whole turns that fit into `keepTokens` stay, and always the last one. A call
 * and its result are never separated. Undefined when nothing lies before the cut.
 */
export function cutAt(rows: readonly Row[], { keepTokens, keepFrom, mostTurn }: CutLimits): CompactionCut | undefined {
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

/** Consecutive user messages are one turn. No turn begins while a call still waits for a later result. */
const turnStarts = (messages: readonly ChatMessage[]): number[] =>
  startsOf(messages, (message, before) => message.role === "user" && before?.role !== "user");

/** Where the steps of the last turn begin, if the turn is larger than `most`. */
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

/** Index of the last result of each message's calls, or the message's own index when there is none. */
function pairEnds(messages: readonly ChatMessage[]): number[] {
  const resultAt = new Map<string, number>();
  // The search runs from the end, because providers reuse ids in later turns, and a call's result is the next one after
  // the call.
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
/** Above this share of the window the average message makes chunks smaller. */
const BIG_AVERAGE = 0.1;
/** A message above this share of the window is only named and not summarised. */
const OVERSIZED = 0.5;

/** The share of the window that one chunk may have. Larger messages make it smaller. */
function chunkRatio(messages: readonly ChatMessage[], window: number): number {
  if (messages.length === 0) return BASE_RATIO;
  const average = estimateAll(messages) / messages.length / window;
  return average <= BIG_AVERAGE ? BASE_RATIO : Math.max(LEAST_RATIO, BASE_RATIO - 2 * average);
}

/** The share of the window for a single call with all messages. The rest is for its instructions and its answer. */
const WHOLE_RATIO = 0.7;

/**
 * Divides messages into chunks that are summarised one after the other, in their order. Every message is in one, oversized ones
 * as a note of their role and size. A call and its result are in the same chunk.
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
