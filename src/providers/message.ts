import type { AssistantMessageEvent } from "@mariozechner/pi-ai";
import { z } from "zod";
import { randomUUID } from "node:crypto";
import { readArguments, readChatMessage } from "../types/run/read-chat-message.ts";
import type { AssistantMessage, ToolCallContent } from "../types/run/model.ts";
import { emptyUsage, isPossible } from "../types/run/usage.ts";
import { normalName } from "../tools/policy/names.ts";
import { type Fields, isFields } from "../utils/fields.ts";
import { isCompleteJson, type PiModel, repairedJson } from "./pi.ts";

/** An answer without content. */
export function emptyMessage(model: PiModel): AssistantMessage {
  return {
    role: "assistant",
    content: [],
    api: model.api,
    provider: model.provider,
    model: model.id,
    usage: emptyUsage(),
    stopReason: "stop",
    timestamp: Date.now(),
  };
}

/** Figures that no call can have count as none, so that its cost is an estimate. */
function dropImpossibleUsage(message: AssistantMessage): void {
  const { usage } = message;
  if (!isFields(usage) || !isFields(usage.cost) || !isPossible(usage)) message.usage = emptyUsage();
}

/** The event with a text as its delta. An SDK passes on any value that the server sent; a list of text parts is joined. */
export function withTextDelta(event: AssistantMessageEvent): AssistantMessageEvent {
  if (!("delta" in event) || typeof event.delta === "string") return event;
  const given: unknown = event.delta;
  const isCall = event.type === "toolcall_delta" && typeof given === "object" && given !== null;
  return { ...event, delta: isCall ? JSON.stringify(given) : saidIn(given) };
}

function saidIn(given: unknown): string {
  if (typeof given === "string") return given;
  if (typeof given === "number" || typeof given === "boolean") return String(given);
  if (Array.isArray(given)) return given.map(saidIn).join("");
  return isFields(given) && typeof given["text"] === "string" ? given["text"] : "";
}

/**
 * The message with all its values of their types, whatever the model's server sent: it is stored, and its calls are
 * made. A call without an id gets one. Arguments that are no object are marked as torn, unless there are none.
 */
export function typedMessage(message: AssistantMessage, growth: Growth): AssistantMessage {
  dropImpossibleUsage(message);
  const content = message.content.map((block, at) => typedBlock(block, at, growth));
  const read = readChatMessage(
    content.every((block, at) => block === message.content[at]) ? message : { ...message, content },
  );
  return read?.message.role === "assistant" ? read.message : { ...message, content: [] };
}

type Block = AssistantMessage["content"][number];

/** Levels of lists and objects in arguments: far more than a tool has. Deeper values cannot be copied or written. */
const MOST_LEVELS = 200;

/** Whether a value has more than so many levels. */
function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((part) => isDeeperThan(levels - 1, part));
}

/** Events name the places of blocks, so a block of which nothing can be made stays, without a text. */
function typedBlock(block: Block, at: number, growth: Growth): Block {
  const given: unknown = block;
  const said = growth.oddText(at);
  if (!isFields(given)) return { type: "text", text: "" };
  if (block.type === "toolCall") return typedCall(block, said);
  const name = block.type === "thinking" ? "thinking" : "text";
  if (block.type === name && said === undefined && typeof given[name] === "string") return block;
  const text = said ?? saidIn(given[name]);
  return block.type === "thinking" ? { ...block, thinking: text } : { type: "text", text };
}

function typedCall(call: ToolCallContent, said: string | undefined): ToolCallContent {
  const sent: unknown = said === undefined ? call.arguments : jsonIn(said);
  // A part of an object is not valid as arguments: the call is refused.
  const given = isDeeperThan(MOST_LEVELS, sent) ? [] : sent;
  const id = idOf(call.id);
  const name = wordOf(call.name) || "unknown";
  if (given === call.arguments && isFields(given) && id === call.id && name === call.name) return call;
  const isNone = given === null || given === undefined || given === "";
  const isObject = isFields(given) || isObjectJson(given);
  return { ...call, id, name, arguments: { ...readArguments(given), ...(!isNone && !isObject && { [TORN]: true }) } };
}

const wordOf = (given: unknown): string =>
  typeof given === "string" || typeof given === "number" ? String(given) : "";

const isObjectJson = (given: unknown): boolean => typeof given === "string" && isFields(jsonIn(given));

/** The message with the calls of the offered tools by their names: models also write ` read `, `Read`, `functions.read` and `bash`. */
export function withToolNames(message: AssistantMessage, offered: readonly string[]): AssistantMessage {
  const rename = (block: Block): Block => {
    const name = block.type === "toolCall" ? toolFor(block.name, offered) : undefined;
    return block.type !== "toolCall" || name === undefined || name === block.name ? block : { ...block, name };
  };
  const content = message.content.map(rename);
  return content.every((block, at) => block === message.content[at]) ? message : { ...message, content };
}

/** A part of the form in which a model writes its answers, that some servers leave in the name. */
const CHANNEL = /<\|.*$/s;
/** Prefix that some models write before a name, such as `functions.`. */
const NAMESPACE = /^.*[.:/]/s;

function toolFor(given: string, offered: readonly string[]): string {
  const name = given.replace(CHANNEL, "").trim();
  const forms = [name, name.replace(NAMESPACE, "")];
  const exact = forms.find((form) => offered.includes(form));
  if (exact !== undefined) return exact;
  const like = forms.flatMap((form) => offered.filter((tool) => normalName(tool) === normalName(form)));
  return new Set(like).size === 1 ? (like[0] ?? name) : name || given;
}

/** The SDK joins the two ids of the Responses API, of which each may be missing. */
function idOf(given: unknown): string {
  const [call = "", ...item] = wordOf(given)
    .split("|")
    .filter((id) => id !== "undefined" && id !== "null");
  return [call.trim() === "" ? `call_${randomUUID().replaceAll("-", "")}` : call, ...item].join("|");
}

/** Fields that the SDK adds to a block while it grows. */
const SCRATCH = ["partialArgs", "partialJson", "streamIndex", "index"];

/** The message so far, without tool calls whose arguments are incomplete. */
export function soFar(message: AssistantMessage, growth: Growth): AssistantMessage {
  const copy = structuredClone(message);
  const content = copy.content.filter((block, at) =>
    block.type === "toolCall" ? growth.isWhole(at) : block.type !== "text" || block.text !== "",
  );
  for (const block of content) for (const name of SCRATCH) Reflect.deleteProperty(block, name);
  return { ...copy, content };
}

/** Follows the blocks of a message and the arguments of its tool calls, because the SDK completes JSON that was cut off. */
export class Growth {
  /** The last block has begun and not ended. */
  isOpen = false;
  /** The texts of the blocks, and the arguments of calls. */
  readonly #texts = new Map<number, string>();
  /** Blocks that have got a delta which was no text. */
  readonly #odd = new Set<number>();

  /** `raw`: the arguments of the call that this event ends, if they were seen on the network. `isOdd`: see `withTextDelta`. */
  take(
    event: AssistantMessageEvent,
    { raw, isOdd }: { readonly raw?: string | undefined; readonly isOdd: boolean },
  ): void {
    if (/_(start|delta)$/.test(event.type)) this.isOpen = true;
    if (event.type.endsWith("_end")) this.isOpen = false;
    if ("delta" in event) this.#add(event.contentIndex, event.delta);
    if ("delta" in event && isOdd) this.#odd.add(event.contentIndex);
    // Some servers send the arguments in one piece.
    if (event.type !== "toolcall_end" || this.#texts.get(event.contentIndex)) return;
    const args: unknown = isFields(event.toolCall) ? event.toolCall.arguments : undefined;
    if (!isFields(args) || Object.keys(args).length === 0) return;
    this.#add(event.contentIndex, raw ?? (isDeeperThan(MOST_LEVELS, args) ? "[]" : JSON.stringify(args)));
  }

  /** Text of a block's deltas where a delta was no text, so that the SDK has joined something else. */
  oddText(contentIndex: number): string | undefined {
    return this.#odd.has(contentIndex) ? (this.#texts.get(contentIndex) ?? "") : undefined;
  }

  /** Whether the call at this index has complete arguments. A call without any is incomplete. */
  isWhole(contentIndex: number): boolean {
    return isCompleteJson(this.#texts.get(contentIndex) ?? "");
  }

  /** The same for an answer that the provider ended on purpose: there, a call without arguments is complete. */
  isWholeOrEmpty(contentIndex: number): boolean {
    const text = this.#texts.get(contentIndex) ?? "";
    return text.trim() === "" || isCompleteJson(text);
  }

  /** The arguments of a call that are no JSON, but leave no doubt. */
  slipped(contentIndex: number): Fields | undefined {
    return slippedJson(this.#texts.get(contentIndex) ?? "");
  }

  areWhole({ content }: AssistantMessage): boolean {
    return content.every(
      (block, at) => block.type !== "toolCall" || this.isWholeOrEmpty(at) || this.slipped(at) !== undefined,
    );
  }

  #add(contentIndex: number, text: string): void {
    this.#texts.set(contentIndex, (this.#texts.get(contentIndex) ?? "") + text);
  }
}

/** A symbol, so that the mark gets into no transcript and no request. */
const TORN = Symbol("arguments that are not complete");

/** The object that a text means: JSON with a comma before an end, or in a fence. Undefined when it is none, or not complete. */
function slippedJson(text: string): Fields | undefined {
  const inner = /^\s*```(?:json)?\s*\n(.*)```\s*$/s.exec(text)?.[1] ?? text;
  const read = repairedJson(
    inner.replaceAll(/("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/gs, (_, quoted?: string) => quoted ?? ""),
  );
  return isFields(read) ? read : undefined;
}

/** Marks the arguments of each call that are not complete JSON: the SDK has guessed the rest. */
export function withTornMarked(message: AssistantMessage, growth: Growth): AssistantMessage {
  const content = message.content.map((block, at) => {
    if (block.type !== "toolCall" || growth.isWholeOrEmpty(at)) return block;
    return { ...block, arguments: growth.slipped(at) ?? { ...block.arguments, [TORN]: true } };
  });
  return content.every((block, at) => block === message.content[at]) ? message : { ...message, content };
}

/** Whether the arguments of a call were cut off or are not JSON, so that their values are a guess. */
export const isTorn = (args: unknown): boolean => typeof args === "object" && args !== null && TORN in args;

/**
 * The arguments of a finished call as the Responses API sent them, read from the last bytes. Undefined when the bytes
 * do not have them.
 */
export function rawArgumentsIn(tail: string | undefined, callId: string): string | undefined {
  const lines = (tail ?? "").split("\n").filter((line) => line.includes("response.output_item.done"));
  for (const line of lines.toReversed()) {
    const item = ITEM_DONE.safeParse(jsonIn(line)).data?.item;
    if (item !== undefined && callId.startsWith(`${item.call_id}|`)) return item.arguments;
  }
  return undefined;
}

const ITEM_DONE = z.object({ item: z.object({ call_id: z.string(), arguments: z.string() }) });

function jsonIn(line: string): unknown {
  try {
    return JSON.parse(line.replace(/^data:/, ""));
  } catch {
    // The start of the line is not among the kept bytes.
    return undefined;
  }
}
