import type { PiContext, PiModel, PiStreamOptions } from "../../pi.ts";
import { isFields } from "../../../utils/fields.ts";
import { joined, type Piece } from "./json-parts.ts";

type Message = PiContext["messages"][number];

/** What a request begins with, because an earlier request of its conversation did. */
export interface SentBefore {
  /** How many messages. */
  readonly count: number;
  /** The JSON of lists, whose elements are these messages in the form of the API. */
  readonly lists: readonly Piece[];
  readonly sent: Sent;
}

interface Call {
  readonly model: PiModel;
  readonly context: PiContext;
  readonly options: PiStreamOptions;
}

/** Bytes that are kept of a conversation; a longer one is converted anew for each request. */
const MOST_BYTES = 1024 * 1024;
/** Lists that become one, so that a request is not made of hundreds. */
const MOST_LISTS = 16;

/** The messages of a conversation that were sent last, up to a user's. */
class Sent {
  readonly model: PiModel;
  count = 0;
  readonly lists: Piece[] = [];
  /** Of each message: itself, its content, and each part of that with its text. Whoever changes a message changes one of them. */
  readonly #marks: unknown[] = [];

  constructor(model: PiModel) {
    this.model = model;
  }

  get bytes(): number {
    return this.lists.reduce((sum, { length }) => sum + length, 0);
  }

  add(messages: readonly Message[], converted: readonly unknown[]): void {
    this.count += messages.length;
    for (const message of messages) {
      this.#marks.push(message, message.content);
      if (typeof message.content === "string") continue;
      for (const part of message.content) this.#marks.push(part, saidIn(part));
    }
    if (converted.length > 0) this.lists.push(JSON.stringify(converted));
    if (this.lists.length > MOST_LISTS) this.lists.splice(0, this.lists.length, joined([[...this.lists]]));
  }

  /** Whether a conversation begins with these messages, as they were. */
  begins(messages: readonly Message[]): boolean {
    let at = 0;
    for (let n = 0; n < this.count; n += 1) {
      const message = messages[n];
      at = message ? this.#after(message, at) : -1;
      if (at < 0) return false;
    }
    return true;
  }

  /** Where the marks of the next message begin; -1 when this message is another one. */
  #after(message: Message, at: number): number {
    const { content } = message;
    if (this.#marks[at] !== message || this.#marks[at + 1] !== content) return -1;
    let next = at + 2;
    if (typeof content === "string") return next;
    for (const part of content) {
      if (this.#marks[next] !== part || this.#marks[next + 1] !== saidIn(part)) return -1;
      next += 2;
    }
    return next;
  }
}

function saidIn(part: Exclude<Message["content"], string>[number]): unknown {
  if (part.type === "text") return part.text;
  if (part.type === "thinking") return part.thinking;
  return part.type === "image" ? part.data : part.arguments;
}

/** By the first message, so that nothing is kept longer than the conversation is in memory. */
const known = new WeakMap<Message, Sent>();

/**
 * What the request begins with that was sent before. The SDK converts all messages for each request, although those before the last turn
 * are the same bytes each time. Undefined where the request has to be converted as a whole.
 */
export function sentBefore({ model, context: { messages, tools }, options }: Call): SentBefore | undefined {
  const sent = messages[0] && known.get(messages[0]);
  if (!sent || !isConvertedAlike(sent.model, model) || !isSeparable(model, tools, options)) return undefined;
  if (sent.count >= messages.length || !sent.begins(messages)) return undefined;
  const { count, lists } = sent;
  return hasOwnCalls(messages.slice(count)) ? { count, lists: [...lists], sent } : undefined;
}

/** Keeps what is sent. `converted`: the messages after those of `before`, in the form of the API. */
export function noteSent(
  { model, context: { messages, tools }, options }: Call,
  before: SentBefore | undefined,
  converted: readonly unknown[],
): void {
  const [first] = messages;
  if (!first || messages.at(-1)?.role !== "user" || !isSeparable(model, tools, options)) return;
  // Later requests have such a mark at another message.
  if (converted.some(hasCacheMark)) return;
  const sent = before?.sent ?? new Sent(model);
  sent.add(messages.slice(before?.count ?? 0), converted);
  if (sent.bytes > MOST_BYTES) known.delete(first);
  else known.set(first, sent);
}

/**
 * Whether the SDK converts messages up to a user's without a look at those after them. It looks at all of them for Copilot, and for calls
 * where no tools are offered; and what changes the request may look at all of them, too.
 */
const isSeparable = (model: PiModel, tools: PiContext["tools"], { onPayload }: PiStreamOptions): boolean =>
  model.provider !== "github-copilot" && (tools?.length ?? 0) > 0 && onPayload === undefined;

/** A model whose limits have changed is another object. */
const isConvertedAlike = (one: PiModel, other: PiModel): boolean =>
  one === other || ALIKE.every((key) => one[key] === other[key]);

/** What the SDK looks at when it converts messages. */
const ALIKE = ["api", "provider", "id", "baseUrl", "reasoning", "input", "compat"] as const;

/** The SDK changes the id of a result as it changed that of its call. */
function hasOwnCalls(messages: readonly Message[]): boolean {
  const calls = new Set(
    messages.flatMap((one) =>
      one.role === "assistant" ? one.content.flatMap((part) => (part.type === "toolCall" ? [part.id] : [])) : [],
    ),
  );
  return messages.every((one) => one.role !== "toolResult" || calls.has(one.toolCallId));
}

const hasCacheMark = (message: unknown): boolean =>
  isFields(message) &&
  Array.isArray(message["content"]) &&
  message["content"].some((part) => isFields(part) && "cache_control" in part);
