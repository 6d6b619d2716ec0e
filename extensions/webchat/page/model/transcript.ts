import type { Answers } from "openclaw/plugin-sdk/answers";
import { fields, isSameJson, list, shortNameIn, nonEmpty, number, stringOr, timeIn } from "./json.ts";
import { fileIn, sentWith, type ShownFile } from "./files.ts";
import { readUsage } from "./protocol.ts";
import type { Usage } from "./protocol.ts";
import { gatewayText } from "../words/gateway-sentences.ts";
import { t } from "../words/words.ts";

/** A tool call with its result. */
export interface ToolPart {
  readonly kind: "tool";
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
  readonly result: string;
  readonly state: "running" | "done" | "failed";
}

/** A part of a message. */
export type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thinking"; readonly text: string }
  | { readonly kind: "image"; readonly src: string; readonly name: string }
  | { readonly kind: "file"; readonly file: ShownFile }
  | ToolPart;

/** Why an answer failed: the text, and the gateway's word for the kind. */
export interface TurnError {
  readonly text: string;
  readonly failure: string | undefined;
}

/** All consecutive messages of one side; a tool loop is one turn. */
export interface TranscriptTurn {
  readonly id: string;
  /** Entries of the transcript; none before the turn is written. */
  readonly messageIds: readonly string[];
  readonly role: "user" | "assistant" | "note";
  readonly parts: readonly Part[];
  /** Transcript positions of the first and the last message of the turn. */
  readonly first: number;
  readonly last: number;
  readonly at?: number | undefined;
  readonly runIds: readonly string[];
  readonly usage?: Usage | undefined;
  readonly model?: string | undefined;
  /** Author of the turn, if not the operator. */
  readonly sender?: string | undefined;
  readonly error?: TurnError | undefined;
  readonly aborted?: boolean | undefined;
}

type ShownMessage = Answers["chat.history"]["messages"][number];

/** The end of a transcript as it was read, with its turns; `hasMore`: there are older messages. */
export interface ReadTranscript {
  readonly messages: readonly ShownMessage[];
  readonly turns: readonly TranscriptTurn[];
  readonly hasMore: boolean;
}

export const NOTHING_READ: ReadTranscript = { messages: [], turns: [], hasMore: false };

export const idOf = (message: ShownMessage): string => stringOr(fields(message.__openclaw).id);

/**
 * What was read, with the newest messages in their place. Older ones stay where the newest follow them: a transcript only grows. Of
 * messages that follow what was read only those are read, and a turn that they do not change remains the same object.
 */
export function withNewest(
  known: ReadTranscript,
  { messages, hasMore = false }: Answers["chat.history"],
): ReadTranscript {
  const [first] = messages;
  const at = first === undefined ? -1 : known.messages.findLastIndex((message) => idOf(message) === idOf(first));
  if (at === -1) return { messages, turns: readTurns(messages), hasMore };
  const before = known.messages.slice(at);
  const isContinued = before.every((message, index) => isSameJson(message, messages[index]));
  if (!isContinued) return readAgain([...known.messages.slice(0, at), ...messages], at === 0 ? hasMore : known.hasMore);
  const added = messages.slice(before.length);
  return added.length === 0
    ? known
    : {
        messages: [...known.messages, ...added],
        turns: continued(known.turns, added, known.messages.length),
        hasMore: known.hasMore,
      };
}

/** What was read, with the messages before it that it does not have. */
export function withOlder(known: ReadTranscript, { messages, hasMore }: Answers["chat.history"]): ReadTranscript {
  const had = new Set(known.messages.map(idOf));
  const added = messages.filter((message) => !had.has(idOf(message)));
  return readAgain([...added, ...known.messages], hasMore === true && added.length > 0);
}

const readAgain = (messages: readonly ShownMessage[], hasMore: boolean): ReadTranscript => ({
  messages,
  turns: readTurns(messages),
  hasMore,
});

/** Reads the messages of `chat.history` as turns. A tool result becomes part of its call. */
const readTurns = (messages: readonly ShownMessage[]): readonly TranscriptTurn[] => continued([], messages, 0);

/** The turns with those of the messages that follow them; `count`: how many messages came before. */
function continued(
  before: readonly TranscriptTurn[],
  messages: readonly ShownMessage[],
  count: number,
): readonly TranscriptTurn[] {
  const turns = [...before];
  for (const [index, item] of messages.entries()) {
    const message = fields(item);
    const previous = turns.at(-1);
    if (message.role === "toolResult") {
      if (previous !== undefined) turns[turns.length - 1] = withResult(previous, message);
      continue;
    }
    const turn = readTurn(message, count + index + 1);
    if (turn === undefined) continue;
    if (previous !== undefined && isGoneOn(previous, turn)) turns[turns.length - 1] = merged(previous, turn);
    else turns.push(turn);
  }
  return turns;
}

/** Whether the message is a part of the answer before it. What a client added under a name is none. */
const isGoneOn = (turn: TranscriptTurn, next: TranscriptTurn): boolean =>
  turn.role === "assistant" && next.role === "assistant" && turn.sender === next.sender;

function readTurn(message: Partial<ShownMessage>, position: number): TranscriptTurn | undefined {
  const meta = fields(message.__openclaw);
  const seq = number(meta.seq, position);
  const runId = nonEmpty(meta.runId);
  const files = sentWith(meta).map((file): Part => ({ kind: "file", file }));
  const isOfGateway = message.model === INJECTED;
  const { label, parts: content } = isOfGateway
    ? contentOfGateway(message.content)
    : { label: undefined, parts: readParts(message.content) };
  const parts = filesFirst(roleOf(message.role), [...files, ...content]);
  const stopReason = stringOr(message.stopReason);
  const failed = stopReason === "error" || nonEmpty(message.errorMessage) !== undefined;
  if (parts.length === 0 && !failed && stopReason !== "aborted") return undefined;
  return {
    id: stringOr(meta.id, `place-${seq}`),
    messageIds: nonEmpty(meta.id) === undefined ? [] : [stringOr(meta.id)],
    role: roleOf(message.role),
    parts,
    first: seq,
    last: seq,
    at: timeIn(message.timestamp),
    runIds: runId === undefined ? [] : [runId],
    usage: readUsage(message.usage),
    model: isOfGateway ? undefined : nonEmpty(message.model),
    sender: shortNameIn(label ?? meta.sender),
    error:
      failed && stopReason !== "aborted"
        ? { text: stringOr(message.errorMessage, t("The model call failed.")), failure: nonEmpty(meta.failure) }
        : undefined,
    aborted: stopReason === "aborted" ? true : undefined,
  };
}

/** The model's name on messages of the gateway itself. */
const INJECTED = "gateway-injected";

/** The label that `chat.inject` writes before a text, and the text. */
const LABELLED = /^\[([^\]\n]{1,100})\]\n\n([^]+)$/;

interface Labelled {
  /** Set on what a client added to the conversation under it. */
  readonly label: string | undefined;
  readonly parts: readonly Part[];
}

/** The content of a message that no model wrote: what the gateway says itself is in the person's language. */
function contentOfGateway(content: unknown): Labelled {
  const parts = readParts(content);
  const [first, ...others] = parts;
  const [, label, text] = (first?.kind === "text" && LABELLED.exec(first.text)) || [];
  if (label === undefined || text === undefined) return { label: undefined, parts: parts.map(inOwnWords) };
  return { label, parts: [{ kind: "text", text }, ...others] };
}

/** A part of a message of the gateway, in the person's language. */
const inOwnWords = (part: Part): Part => (part.kind === "text" ? { ...part, text: gatewayText(part.text) } : part);

/** A person's images and files come before the text, as when they were sent. */
function filesFirst(role: TranscriptTurn["role"], parts: readonly Part[]): readonly Part[] {
  if (role !== "user") return parts;
  const ofKind = (kind: Part["kind"]): readonly Part[] => parts.filter((part) => part.kind === kind);
  const others = parts.filter(({ kind }) => kind !== "image" && kind !== "file");
  return [...ofKind("image"), ...ofKind("file"), ...others];
}

function roleOf(role: unknown): TranscriptTurn["role"] {
  return role === "user" || role === "assistant" ? role : "note";
}

/** Reads a message's content: a string, or a list of text, thinking, image and tool call blocks. */
export function readParts(content: unknown): readonly Part[] {
  if (typeof content === "string") return content.trim() === "" ? [] : [{ kind: "text", text: content }];
  return list(content).flatMap((block) => readPart(fields(block)) ?? []);
}

function readPart(block: Record<string, unknown>): Part | undefined {
  switch (block["type"]) {
    case "text":
      return stringOr(block["text"]).trim() === "" ? undefined : { kind: "text", text: stringOr(block["text"]) };
    case "thinking": {
      const thought = stringOr(block["thinking"]);
      return thought.trim() === "" ? undefined : { kind: "thinking", text: thought };
    }
    case "image":
      return readImage(block);
    case "attachment": {
      const file = fileIn(block);
      return file && { kind: "file", file };
    }
    case "toolCall":
    case "tool_use":
      return {
        kind: "tool",
        id: stringOr(block["id"]),
        name: stringOr(block["name"], "tool"),
        args: block["arguments"] ?? block["input"],
        result: "",
        state: "running",
      };
    default:
      return undefined;
  }
}

function readImage(block: Record<string, unknown>): Part {
  const data = nonEmpty(block["data"]);
  const mimeType = stringOr(block["mimeType"], "image/png");
  const name = stringOr(block["fileName"], "image");
  if (data === undefined || !/^image\/[\w.+-]+$/.test(mimeType)) return { kind: "text", text: `[${name}]` };
  return { kind: "image", src: `data:${mimeType};base64,${data}`, name };
}

function withResult(turn: TranscriptTurn, message: Partial<ShownMessage>): TranscriptTurn {
  const id = stringOr(message.toolCallId);
  const position = number(fields(message.__openclaw).seq, turn.last + 1);
  const result = resultText(message.content);
  const state = message.isError === true ? "failed" : "done";
  const parts = turn.parts.map((part): Part => {
    return part.kind === "tool" && part.id === id ? { ...part, result, state } : part;
  });
  return { ...turn, parts, last: Math.max(turn.last, position) };
}

/** The text of a tool's result, whatever its form; JSON when it has no text. */
export function resultText(result: unknown): string {
  if (typeof result === "string") return result;
  if (result === undefined || result === null) return "";
  const blocks = Array.isArray(result) ? list(result) : list(fields(result)["content"]);
  const texts = blocks.map((block) => nonEmpty(block) ?? blockText(fields(block))).filter((line) => line !== "");
  if (texts.length > 0) return texts.join("\n");
  return blocks.length === 0 && !Array.isArray(result) ? JSON.stringify(result, undefined, 2) : "";
}

function blockText(block: Record<string, unknown>): string {
  return block["type"] === "image" ? "[image]" : stringOr(block["text"]);
}

function merged(before: TranscriptTurn, after: TranscriptTurn): TranscriptTurn {
  return {
    ...before,
    messageIds: [...before.messageIds, ...after.messageIds],
    parts: [...before.parts, ...after.parts],
    last: after.last,
    runIds: [...before.runIds, ...after.runIds.filter((id) => !before.runIds.includes(id))],
    usage: sumOf(before.usage, after.usage),
    model: after.model ?? before.model,
    error: after.error,
    aborted: after.aborted,
  };
}

/** The sum of two usages; either may be missing. */
function sumOf(one: Usage | undefined, other: Usage | undefined): Usage | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return {
    input: one.input + other.input,
    output: one.output + other.output,
    cached: one.cached + other.cached,
    cost: one.cost + other.cost,
  };
}
