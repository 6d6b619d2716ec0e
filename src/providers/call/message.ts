import type { AssistantMessageEvent } from "@mariozechner/pi-ai";
import type { AssistantMessage } from "../../types/model.ts";
import { emptyUsage } from "../../types/usage.ts";
import type { PiModel } from "../pi.ts";

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

  take(event: AssistantMessageEvent): void {
    if (/_(start|delta)$/.test(event.type)) this.isOpen = true;
    if (event.type.endsWith("_end")) this.isOpen = false;
    if (event.type === "toolcall_delta") this.#add(event.contentIndex, event.delta);
    // Some servers send them in one piece.
    if (event.type === "toolcall_end" && !this.#texts.get(event.contentIndex) && hasEntries(event.toolCall.arguments))
      this.#add(event.contentIndex, JSON.stringify(event.toolCall.arguments));
  }

  isWhole(contentIndex: number): boolean {
    return isJson(this.#texts.get(contentIndex) ?? "");
  }

  /** In an answer that was ended on purpose, no arguments are fine as well. */
  areWhole({ content }: AssistantMessage): boolean {
    return content.every((block, at) => block.type !== "toolCall" || isJson(this.#texts.get(at) || "{}"));
  }

  #add(contentIndex: number, text: string): void {
    this.#texts.set(contentIndex, (this.#texts.get(contentIndex) ?? "") + text);
  }
}

const hasEntries = (value: object): boolean => Object.keys(value).length > 0;

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
