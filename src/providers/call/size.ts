import type { AssistantMessageEvent } from "@mariozechner/pi-ai";
import type { Wire } from "./wire.ts";

/**
 * The most decoded bytes of a refusal's body, which usually has a few thousand, and of a body without one SDK event: as the SDK gets them,
 * and as the provider sent them. With each piece the SDK reads again all that it has of an event, so the time for an endless line grows
 * with the square of its length. The deltas of a tool call are joined before the SDK gets them, and have a hundred times as many bytes.
 */
const MOST_BYTES = { refused: 1024 * 1024, silent: 2 * 1024 * 1024, joined: 200 * 1024 * 1024 };
/** The most characters of one answer, with thinking and arguments: twice the longest that a model writes, 128,000 tokens. */
const MOST_CHARS = 1024 * 1024;
/**
 * The most characters of the arguments of all tool calls of one answer. With each piece the SDK parses all arguments
 * again.
 */
const MOST_ARGUMENTS = 512 * 1024;
/** The most tool calls and other blocks of one answer. */
const MOST_BLOCKS = 1000;

/** The most events of one answer: three times as many as the longest answer of a model has tokens. */
const MOST_EVENTS = 400_000;

/** Counts how large an answer is. A provider that never ends one would fill the memory. */
export class Size {
  readonly #wire: Wire;
  #bytesBefore = 0;
  #givenBefore = 0;
  #chars = 0;
  #events = 0;
  #arguments = 0;

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  /** The reason why no more of the body may be read. Undefined while there is none. */
  get tooManyBytes(): string | undefined {
    const { status = 0, bytes, given } = this.#wire;
    const { refused, silent, joined } = MOST_BYTES;
    if (status >= 400) return bytes > refused ? tooLarge("an error", refused) : undefined;
    // Counting starts again for a further request of the same call.
    this.#bytesBefore = Math.min(this.#bytesBefore, bytes);
    this.#givenBefore = Math.min(this.#givenBefore, given);
    if (given - this.#givenBefore > silent) return tooLarge("an answer without an event", silent);
    return bytes - this.#bytesBefore > joined ? tooLarge("an answer without an event", joined) : undefined;
  }

  /** Counts one event. Returns the reason why the answer must end, or undefined. */
  take(event: AssistantMessageEvent): string | undefined {
    this.#bytesBefore = this.#wire.bytes;
    this.#givenBefore = this.#wire.given;
    this.#events += 1;
    if (this.#events > MOST_EVENTS) return `The provider sent an answer of more than ${MOST_EVENTS} events.`;
    if ("delta" in event) this.#chars += event.delta.length;
    if (event.type === "toolcall_delta") this.#arguments += event.delta.length;
    if (this.#arguments > MOST_ARGUMENTS)
      return `The provider sent an answer with arguments of more than ${MOST_ARGUMENTS} characters.`;
    if (this.#chars > MOST_CHARS) return `The provider sent an answer of more than ${MOST_CHARS} characters.`;
    return "contentIndex" in event && event.contentIndex >= MOST_BLOCKS
      ? `The provider sent an answer of more than ${MOST_BLOCKS} parts.`
      : undefined;
  }
}

const tooLarge = (what: string, most: number): string => `The provider sent ${what} of more than ${most / 1024} KB.`;
