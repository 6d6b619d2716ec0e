/**
 * A member that says nothing by itself, so that one is as good as two. The pattern matches in one way only: with two
 * ways, many members in a row take forever.
 */
const MEMBER = String.raw`"(?:(?:role|type)": ?"\w+"|\w+": ?(?:null|""))`;
/** Members of an object before another one, and after it. */
const BEFORE = `(?:${MEMBER}, ?)*`;
const AFTER = `(?:, ?${MEMBER})*`;
/**
 * The ways to a piece of text in an event of a model's stream: OpenAI's `choices[].delta.content` and the
 * `reasoning_content` of other servers, Anthropic's `delta.text`, `delta.thinking` and `delta.partial_json`, and the
 * arguments of one of OpenAI's `delta.tool_calls`. `rest`: how `delta` may continue. An event with a second text is not
 * joined: one of the texts would be lost.
 */
const TEXTS = ["content", "text", "thinking", "reasoning", "reasoning_content"].join("|");
const CALL_MEMBER = String.raw`(?:"index": ?\d+|${MEMBER})`;
const WAYS = [
  { head: `"(?:${TEXTS})": ?"`, rest: `"${AFTER}\\}`, isCall: false },
  { head: `"partial_json": ?"`, rest: `"${AFTER}\\}`, isCall: true },
  {
    head: String.raw`"tool_calls": ?\[\{(?:${CALL_MEMBER}, ?)*"function": ?\{${BEFORE}"arguments": ?"`,
    rest: String.raw`"${AFTER}\}(?:, ?${CALL_MEMBER})*\}\]${AFTER}\}`,
    isCall: true,
  },
].map(({ head, rest, isCall }) => ({
  head: new RegExp(`"delta": ?\\{${BEFORE}${head}`),
  rest: new RegExp(`^${rest}`),
  isCall,
}));
/** An argument delta of OpenAI's Responses API. Its number and its padding differ from event to event, and the SDK reads neither. */
const RESPONSES =
  /^(?:event: ?[\w.]+\n)?data: ?\{"type": ?"response\.function_call_arguments\.delta"(?:, ?"(?!delta)\w+": ?(?:"[^"\\]*"|\d+))*, ?"delta": ?"/;
const RESPONSES_REST = /^"(?:, ?"\w+": ?(?:"[^"\\]*"|\d+))*\}\n\n$/;
const NUMBER = /"sequence_number": ?\d+|"obfuscation": ?"\w*"/g;
const END = "\n\n";
/** Events that a server sends between others to keep the connection alive. */
const SIGN_OF_LIFE = /^(?:event: ?ping\n|:)/;

/** Bytes of arguments that wait for the end of their call: more than `Size` lets an answer have, unless half of them are escaped. */
const MOST_HELD = 600 * 1024;
/** Bytes of an event that may wait to be complete, behind arguments that wait. */
const MOST_REST = 64 * 1024;

interface Delta {
  readonly head: string;
  readonly said: string;
  readonly tail: string;
  /** The same for events that may be joined. */
  readonly key: string;
  /** The delta belongs to the arguments of a tool call. */
  readonly isCall: boolean;
}

/** Neighbours that are one event. */
interface Joined extends Omit<Delta, "said"> {
  /** Bytes of earlier pieces of the body. */
  readonly before: Buffer[];
  readonly said: string[];
  heldBytes: number;
}

/**
 * The server-sent events of one body, in which neighbours that differ only in their piece of text are one event with
 * the whole text, as if the server had sent longer pieces. An SDK takes about as long for a short event as for a long
 * one. The arguments of a tool call wait for the end of the call, because the SDKs parse all arguments so far for each
 * event, and incomplete JSON takes a hundred times as long. Anything else is passed on as it comes, and an event that
 * is not complete in a piece is left as it is.
 */
export class DeltaJoiner {
  #open: Joined | undefined;
  #rest = "";

  /** True while `end` has something to give. */
  get isWaiting(): boolean {
    return this.#open !== undefined;
  }

  /** The events that may be passed on; empty while arguments wait. */
  take(bytes: Uint8Array): Uint8Array {
    // Latin-1 gives one character for each byte, whatever the text's own encoding is.
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
    if (!this.#open && !text.includes('"delta":')) return bytes;
    const wasOpen = this.#open !== undefined;
    const [parts, rest] = this.#join(eventsIn(this.#rest + text));
    this.#rest = "";
    if (this.#open?.isCall === true && rest.length < MOST_REST && this.#hold(this.#open)) this.#rest = rest;
    else parts.push(...this.#close(), rest);
    const joined = parts.join("");
    return !wasOpen && joined.length === text.length ? bytes : Buffer.from(joined, "latin1");
  }

  /** Bytes that still wait at the end of the body. */
  end(): Uint8Array {
    const parts = [...this.#close(), this.#rest];
    this.#rest = "";
    return Buffer.from(parts.join(""), "latin1");
  }

  #join(events: readonly string[]): readonly [parts: string[], rest: string] {
    const parts: string[] = [];
    for (const event of events.slice(0, -1)) {
      const delta = deltaIn(event);
      if (delta && this.#open?.key === delta.key) this.#open.said.push(delta.said);
      else if (this.#open?.isCall === true && SIGN_OF_LIFE.test(event)) parts.push(event);
      else {
        parts.push(...this.#close());
        if (delta) this.#open = { ...delta, said: [delta.said], before: [], heldBytes: 0 };
        else parts.push(event);
      }
    }
    return [parts, events.at(-1) ?? ""];
  }

  /**
   * Holds an event; false when it is too long to wait. Copied: a part of a string would keep the whole string in
   * memory.
   */
  #hold(open: Joined): boolean {
    const said = Buffer.from(open.said.splice(0).join(""), "latin1");
    if (said.length > 0) open.before.push(said);
    open.heldBytes += said.length;
    return open.heldBytes < MOST_HELD;
  }

  #close(): readonly string[] {
    const open = this.#open;
    this.#open = undefined;
    if (!open) return [];
    return [open.head, Buffer.concat(open.before).toString("latin1"), ...open.said, open.tail];
  }
}

/** The events of a text, and last the incomplete rest. */
function eventsIn(text: string): readonly string[] {
  const events: string[] = [];
  let at = 0;
  for (let end = text.indexOf(END); end >= 0; end = text.indexOf(END, at)) {
    events.push(text.slice(at, end + END.length));
    at = end + END.length;
  }
  return [...events, text.slice(at)];
}

function deltaIn(event: string): Delta | undefined {
  if (!event.endsWith(END) || !hasOne(event, '"delta"')) return undefined;
  const response = RESPONSES.exec(event);
  if (response) return numbered(split(event, response[0].length, { rest: RESPONSES_REST, isCall: true }));
  for (const { head, rest, isCall } of WAYS) {
    const found = head.exec(event);
    if (found) return split(event, found.index + found[0].length, { rest, isCall });
  }
  return undefined;
}

function split(
  event: string,
  start: number,
  { rest, isCall }: { readonly rest: RegExp; readonly isCall: boolean },
): Delta | undefined {
  const end = endOfString(event, start);
  if (end < 0 || !rest.test(event.slice(end))) return undefined;
  const [head, tail] = [event.slice(0, start), event.slice(end)];
  return { head, said: event.slice(start, end), tail, key: `${head}\n${tail}`, isCall };
}

const numbered = (delta: Delta | undefined): Delta | undefined =>
  delta && { ...delta, key: delta.key.replaceAll(NUMBER, "") };

/** An event with several choices has a `delta` for each. */
const hasOne = (event: string, part: string): boolean => event.indexOf(part) === event.lastIndexOf(part);

/** Where the quotation mark is that ends a JSON string. */
function endOfString(json: string, from: number): number {
  for (let at = json.indexOf('"', from); at >= 0; at = json.indexOf('"', at + 1)) {
    let slashes = 0;
    while (at - slashes > from && json[at - slashes - 1] === "\\") slashes += 1;
    if (slashes % 2 === 0) return at;
  }
  return -1;
}
