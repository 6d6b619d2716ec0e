import type { AssistantMessageEvent } from "@mariozechner/pi-ai";
import { z } from "zod";
import type { AssistantMessage } from "../../types/run/model.ts";
import { emptyUsage, isPossible } from "../../types/run/usage.ts";
import { isCompleteJson, type PiModel } from "../pi.ts";

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
export function dropImpossibleUsage(message: AssistantMessage): void {
  if (!isPossible(message.usage)) message.usage = emptyUsage();
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
  readonly #texts = new Map<number, string>();

  /** `raw`: the arguments of the call that this event ends, if they were seen on the network. */
  take(event: AssistantMessageEvent, raw?: string): void {
    if (/_(start|delta)$/.test(event.type)) this.isOpen = true;
    if (event.type.endsWith("_end")) this.isOpen = false;
    if (event.type === "toolcall_delta") this.#add(event.contentIndex, event.delta);
    // Some servers send the arguments in one piece.
    if (event.type === "toolcall_end" && !this.#texts.get(event.contentIndex) && hasEntries(event.toolCall.arguments))
      this.#add(event.contentIndex, raw ?? JSON.stringify(event.toolCall.arguments));
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

  areWhole({ content }: AssistantMessage): boolean {
    return content.every((block, at) => block.type !== "toolCall" || this.isWholeOrEmpty(at));
  }

  #add(contentIndex: number, text: string): void {
    this.#texts.set(contentIndex, (this.#texts.get(contentIndex) ?? "") + text);
  }
}

const hasEntries = (value: object): boolean => Object.keys(value).length > 0;

/** A symbol, so that the mark gets into no transcript and no request. */
const TORN = Symbol("arguments that are not complete");

/** Marks the arguments of each call that are not complete JSON: the SDK has guessed the rest. */
export function withTornMarked(message: AssistantMessage, growth: Growth): AssistantMessage {
  if (growth.areWhole(message)) return message;
  const content = message.content.map((block, at) => {
    if (block.type !== "toolCall" || growth.isWholeOrEmpty(at)) return block;
    return { ...block, arguments: { ...block.arguments, [TORN]: true } };
  });
  return { ...message, content };
}

/** Whether the arguments of a call were cut off or are not JSON, so that their values are a guess. */
export const isTorn = (args: unknown): boolean => typeof args === "object" && args !== null && TORN in args;

/**
 * The arguments of a finished call as the Responses API sent them, read from the last bytes. Undefined when they are not there.
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
