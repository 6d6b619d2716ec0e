import type { PiContext, PiModel, PiStreamOptions } from "../../pi.ts";
import { isFields } from "../../../utils/fields.ts";
import { joined, type Piece } from "./json-parts.ts";

type Message = PiContext["messages"][number];

/** The first messages of a request, which an earlier request of the same conversation has sent. */
export interface SentBefore {
  /** The number of these messages. */
  readonly count: number;
  /** Each piece is the JSON of a list. Together the lists hold these messages in the form of the API. */
  readonly lists: readonly Piece[];
  readonly sent: Sent;
}

interface Call {
  readonly model: PiModel;
  readonly context: PiContext;
  readonly options: PiStreamOptions;
}

/** The most bytes that are kept for a conversation. The SDK converts a longer conversation as a whole for each request. */
const MOST_BYTES = 1024 * 1024;
/** The most lists of a conversation. One more, and all are joined to one list. */
const MOST_LISTS = 16;

/** The messages that the last request of a conversation sent. The last of them is a user's. */
class Sent {
  readonly model: PiModel;
  count = 0;
  readonly lists: Piece[] = [];
  /** For each message: the message object, its content, and each part of the content with the part's text. A changed message differs in one of these. */
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

  /** Whether `messages` begins with these messages, and none of them has changed. */
  begins(messages: readonly Message[]): boolean {
    let at = 0;
    for (let n = 0; n < this.count; n += 1) {
      const message = messages[n];
      at = message ? this.#after(message, at) : -1;
      if (at < 0) return false;
    }
    return true;
  }

  /** The index of the next message's marks. -1 when `message` differs from the marks at `at`. */
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

/** The key is the first message of a conversation: the entry goes when the conversation leaves the memory. */
const known = new WeakMap<Message, Sent>();

/**
 * Finds the first messages of a call that an earlier request has sent, so that the SDK converts only the messages after them. Undefined
 * when the SDK has to convert all messages.
 */
export function sentBefore({ model, context: { messages, tools }, options }: Call): SentBefore | undefined {
  const sent = messages[0] && known.get(messages[0]);
  if (!sent || !isConvertedAlike(sent.model, model) || !isSeparable(model, tools, options)) return undefined;
  if (sent.count >= messages.length || !sent.begins(messages)) return undefined;
  const { count, lists } = sent;
  return hasOwnCalls(messages.slice(count)) ? { count, lists: [...lists], sent } : undefined;
}

/** Keeps the messages of a call for the next request. `converted`: the messages after those of `before`, in the form of the API. */
export function noteSent(
  { model, context: { messages, tools }, options }: Call,
  before: SentBefore | undefined,
  converted: readonly unknown[],
): void {
  const [first] = messages;
  if (!first || messages.at(-1)?.role !== "user" || !isSeparable(model, tools, options)) return;
  // The next request will have this mark at another message.
  if (converted.some(hasCacheMark)) return;
  const sent = before?.sent ?? new Sent(model);
  sent.add(messages.slice(before?.count ?? 0), converted);
  if (sent.bytes > MOST_BYTES) known.delete(first);
  else known.set(first, sent);
}

/**
 * Whether the SDK converts the messages up to a user's message independently of those after it. It does not for GitHub Copilot, nor for a
 * call without tools. An `onPayload` that changes the request may need all messages.
 */
const isSeparable = (model: PiModel, tools: PiContext["tools"], { onPayload }: PiStreamOptions): boolean =>
  model.provider !== "github-copilot" && (tools?.length ?? 0) > 0 && onPayload === undefined;

/** Whether the SDK converts messages for both models in the same way. A model with another context window is another object. */
const isConvertedAlike = (one: PiModel, other: PiModel): boolean =>
  one === other || ALIKE.every((key) => one[key] === other[key]);

/** The fields of a model that the SDK reads when it converts messages. */
const ALIKE = ["api", "provider", "id", "baseUrl", "reasoning", "input", "compat"] as const;

/** Whether each tool result has its call among these messages. The SDK gives a result the id that it has given the call. */
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
