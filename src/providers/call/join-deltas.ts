/** A member that says nothing by itself, so that one is as good as two. It matches in one way only: with two, many in a row take forever. */
const MEMBER = String.raw`"(?:(?:role|type)": ?"\w+"|\w+": ?(?:null|""))`;
/** Members of an object before another one, and after it. */
const BEFORE = `(?:${MEMBER}, ?)*`;
const AFTER = `(?:, ?${MEMBER})*`;
/**
 * The ways to a piece of text in an event of a model's stream: OpenAI's `choices[].delta.content` and what other servers call
 * `reasoning_content`, Anthropic's `delta.text`, `delta.thinking` and `delta.partial_json`, and the arguments of one of OpenAI's
 * `delta.tool_calls`. `rest`: how `delta` may continue. With a second text in it the event is not joined: one of them would be lost.
 */
const TEXTS = ["content", "text", "thinking", "reasoning", "reasoning_content", "partial_json"].join("|");
const CALL_MEMBER = String.raw`(?:"index": ?\d+|${MEMBER})`;
const WAYS = [
  { head: `"(?:${TEXTS})": ?"`, rest: `"${AFTER}\\}` },
  {
    head: String.raw`"tool_calls": ?\[\{(?:${CALL_MEMBER}, ?)*"function": ?\{${BEFORE}"arguments": ?"`,
    rest: String.raw`"${AFTER}\}(?:, ?${CALL_MEMBER})*\}\]${AFTER}\}`,
  },
].map(({ head, rest }) => ({ head: new RegExp(`"delta": ?\\{${BEFORE}${head}`), rest: new RegExp(`^${rest}`) }));
const SHORTEST = '"delta":{"text":""}';
const END = "\n\n";

interface Delta {
  readonly head: string;
  readonly said: string;
  readonly tail: string;
}

/**
 * The same server-sent events, but neighbours that differ only in their piece of text are one event with all of it, as if the
 * server had sent longer pieces. An SDK takes about as long for a short event as for a long one. Events that are not complete in
 * these bytes are left as they are.
 */
export function joinDeltas(bytes: Uint8Array): Uint8Array {
  // Latin-1 gives one character for each byte, whatever the text's own encoding is.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
  if (text.length < 2 * SHORTEST.length || !text.includes('"delta":')) return bytes;
  const joined = joinedEvents(eventsIn(text)).join("");
  return joined.length === text.length ? bytes : Buffer.from(joined, "latin1");
}

/** Parts of a text. */
function joinedEvents(events: readonly string[]): readonly string[] {
  const parts: string[] = [];
  let last: Delta | undefined;
  for (const event of events) {
    const delta = deltaIn(event);
    if (last && delta?.head === last.head && delta.tail === last.tail) {
      parts.push(delta.said);
      continue;
    }
    if (last) parts.push(last.tail);
    if (delta) parts.push(delta.head, delta.said);
    else parts.push(event);
    last = delta;
  }
  return last ? [...parts, last.tail] : parts;
}

/** The events of a text, and last what is not complete. */
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
  for (const { head, rest } of WAYS) {
    const found = head.exec(event);
    if (found) return split(event, found.index + found[0].length, rest);
  }
  return undefined;
}

function split(event: string, start: number, rest: RegExp): Delta | undefined {
  const end = endOfString(event, start);
  if (end < 0 || !rest.test(event.slice(end))) return undefined;
  return { head: event.slice(0, start), said: event.slice(start, end), tail: event.slice(end) };
}

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
