import type { PiContext, PiModel, PiStreamOptions } from "../../pi.ts";
import { isFields } from "../../../utils/fields.ts";
import { encoded, type JsonPiece } from "./json-pieces.ts";

type Message = PiContext["messages"][number];

/** The first messages of a request, which an earlier request of the same conversation has sent. */
export interface SentBefore {
  /** The number of these messages. */
  readonly count: number;
  /** The JSON of these messages in the form of the API, each with a comma before it. */
  readonly pieces: readonly JsonPiece[];
  readonly sent: Sent;
}

interface Call {
  readonly model: PiModel;
  readonly context: PiContext;
  readonly options: PiStreamOptions;
}

/** The most bytes that are kept for a conversation. The SDK converts a longer conversation as a whole for each request. */
const MOST_BYTES = 1024 * 1024;
/**
 * The lists of the last turns are kept as texts. With one text more than this, all of these texts become one block of
 * bytes. A block does not grow: a block that grew with its conversation would leave holes in the allocator's memory
 * that are too small for its next, longer version.
 */
const MOST_TEXTS = 16;
/** Texts that together have more characters become a block at once. */
const MOST_TEXT_CHARS = 16 * 1024;
/** Blocks that are joined into a large one, because a request takes time for each of its pieces. */
const MOST_BLOCKS = 8;

/** The messages that the last request of a conversation sent. The last message is a user's. */
class Sent {
  readonly model: PiModel;
  count = 0;
  /** Bytes of all lists. */
  bytes = 0;
  readonly #largeBlocks: Uint8Array[] = [];
  #blocks: Uint8Array[] = [];
  #texts: { readonly list: string }[] = [];
  /**
   * Marks of each message: the message object, its content, and each part of the content with the part's text. A
   * changed message differs in one of these.
   */
  readonly #marks: unknown[] = [];

  constructor(model: PiModel) {
    this.model = model;
  }

  get pieces(): readonly JsonPiece[] {
    return [...this.#largeBlocks, ...this.#blocks, ...this.#texts];
  }

  add(messages: readonly Message[], converted: readonly unknown[]): void {
    this.count += messages.length;
    for (const message of messages) {
      this.#marks.push(message, message.content);
      if (typeof message.content === "string") continue;
      for (const part of message.content) this.#marks.push(part, saidIn(part));
    }
    if (converted.length > 0) this.#keep(JSON.stringify(converted));
  }

  #keep(text: string): void {
    this.#texts.push({ list: text });
    this.bytes += Buffer.byteLength(text);
    const chars = this.#texts.reduce((sum, { list }) => sum + list.length, 0);
    if (this.#texts.length <= MOST_TEXTS && chars <= MOST_TEXT_CHARS) return;
    this.#blocks.push(...encoded(this.#texts, (length) => Buffer.allocUnsafeSlow(length)));
    this.#texts = [];
    if (this.#blocks.length < MOST_BLOCKS) return;
    this.#largeBlocks.push(Buffer.concat(this.#blocks));
    this.#blocks = [];
  }

  /** Whether `messages` begins with these messages, without any change. */
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
/** The first messages of conversations that had more than `MOST_BYTES`. */
const tooLong = new WeakSet<Message>();

/**
 * Finds the first messages of a call that an earlier request has sent, so that the SDK converts only the messages after them. Undefined
 * when the SDK has to convert all messages.
 */
export function sentBefore({ model, context: { messages, tools }, options }: Call): SentBefore | undefined {
  const sent = messages[0] && known.get(messages[0]);
  if (!sent || !isConvertedAlike(sent.model, model) || !isSeparable(model, tools, options)) return undefined;
  if (sent.count >= messages.length || !sent.begins(messages)) return undefined;
  const { count, pieces } = sent;
  return hasOwnCalls(messages.slice(count)) ? { count, pieces, sent } : undefined;
}

/**
 * Keeps the messages of a call for the next request. `converted`: the messages after the messages of `before`, in the
 * form of the API.
 */
export function noteSent(
  { model, context: { messages, tools }, options }: Call,
  before: SentBefore | undefined,
  converted: readonly unknown[],
): void {
  const [first] = messages;
  if (!first || tooLong.has(first)) return;
  if (messages.at(-1)?.role !== "user" || !isSeparable(model, tools, options)) return;
  // The next request will have this mark at another message.
  if (converted.some(hasCacheMark)) return;
  const sent = before?.sent ?? new Sent(model);
  sent.add(messages.slice(before?.count ?? 0), converted);
  if (sent.bytes <= MOST_BYTES) {
    known.set(first, sent);
    return;
  }
  known.delete(first);
  tooLong.add(first);
}

/**
 * Whether the SDK converts the messages up to a user's message independently of the messages after it. It does not for
 * GitHub Copilot, nor for a call without tools. An `onPayload` that changes the request may need all messages.
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
