import type { AssistantMessageEvent } from "@mariozechner/pi-ai";
import { z } from "zod";
import type { AssistantMessage } from "../../types/run/model.ts";
import { emptyUsage } from "../../types/run/usage.ts";
import { isCompleteJson, type PiModel } from "../pi.ts";

/** An answer that says nothing yet. */
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

/** Buffers that the SDK keeps in a block while it grows. */
const SCRATCH = ["partialArgs", "partialJson", "streamIndex", "index"];

/** A message as far as it came: calls of tools whose arguments are not whole are left out. */
export function soFar(message: AssistantMessage, growth: Growth): AssistantMessage {
  const copy = structuredClone(message);
  const content = copy.content.filter((block, at) =>
    block.type === "toolCall" ? growth.isWhole(at) : block.type !== "text" || block.text !== "",
  );
  for (const block of content) for (const name of SCRATCH) Reflect.deleteProperty(block, name);
  return { ...copy, content };
}

/** Follows a message's blocks, and the arguments of its tool calls: the SDK mends JSON that stops half-way. */
export class Growth {
  /** The last block had begun and not ended. */
  isOpen = false;
  readonly #texts = new Map<number, string>();

  /** `raw`: the arguments of the call that this event ends, where they were seen on the wire. */
  take(event: AssistantMessageEvent, raw?: string): void {
    if (/_(start|delta)$/.test(event.type)) this.isOpen = true;
    if (event.type.endsWith("_end")) this.isOpen = false;
    if (event.type === "toolcall_delta") this.#add(event.contentIndex, event.delta);
    // Some servers send them in one piece.
    if (event.type === "toolcall_end" && !this.#texts.get(event.contentIndex) && hasEntries(event.toolCall.arguments))
      this.#add(event.contentIndex, raw ?? JSON.stringify(event.toolCall.arguments));
  }

  /** The call at this place has complete arguments; none at all are not. */
  isWhole(contentIndex: number): boolean {
    return isCompleteJson(this.#texts.get(contentIndex) ?? "");
  }

  /** In an answer that was ended on purpose, a call without arguments is complete as well. */
  isWholeOrEmpty(contentIndex: number): boolean {
    const text = this.#texts.get(contentIndex) ?? "";
    return text.trim() === "" || isCompleteJson(text);
  }

  areWhole({ content }: AssistantMessage): boolean {
    return content.every((block, at) => block.type !== "toolCall" || this.isWholeOrEmpty(at));
  }

  #add(contentIndex: number, text: string): void {
    this.#texts.set(contentIndex, (this.#texts.get(contentIndex) ?? "") + text);
  }
}

const hasEntries = (value: object): boolean => Object.keys(value).length > 0;

/** Under a symbol: the mark is in no transcript and no request. */
const TORN = Symbol("arguments that are not complete");

/** The message with a mark on the arguments of each call that are not complete JSON: the SDK has completed them by guess. */
export function withTornMarked(message: AssistantMessage, growth: Growth): AssistantMessage {
  if (growth.areWhole(message)) return message;
  const content = message.content.map((block, at) => {
    if (block.type !== "toolCall" || growth.isWholeOrEmpty(at)) return block;
    return { ...block, arguments: { ...block.arguments, [TORN]: true } };
  });
  return { ...message, content };
}

/** The arguments of a call were cut off, or are no JSON: their values are a guess. */
export const isTorn = (args: unknown): boolean => typeof args === "object" && args !== null && TORN in args;

/** The arguments of a finished call as the Responses API sent them, from the end of the wire; undefined when not found. */
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
    // The beginning of the line was not kept.
    return undefined;
  }
}
