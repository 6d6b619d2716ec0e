import { isFields } from "../../utils/fields.ts";
import { repairedJson } from "../pi.ts";
import { formatFor, type EventFormat } from "./event-formats.ts";

/** Bytes of one event that may wait for its end. A longer one is passed on as it comes. */
const MOST_HELD = 1024 * 1024;
const END = /\n\r?\n/g;
/** Characters before a piece that may belong to an end. */
const END_LENGTH = 2;
/** Start of a stream of events. */
const BEGINS = /^\s*(?:data|event|id|retry|:)/;
/** Words of events that may have a part of a call. */
const OF_CALLS =
  /"tool_calls": ?\[|"function_call": ?\{|"functionCall"|"tool_use"|partial_json|function_call_arguments/;

/**
 * The server-sent events of an answer without events that an SDK cannot read: the SDK takes an empty or torn event, or
 * an unexpected value in an event, for a failure of the whole answer. An event that cannot be read is left out, unless
 * a part of a tool's call may be in it: a call with a gap would be another call. Odd events of a known kind are mended.
 * All others are passed on byte for byte.
 */
export class EventMender {
  readonly #format: EventFormat;
  #rest = "";
  /** Offset in `#rest` up to which it was searched. */
  #searched = 0;
  /** Undefined until the first bytes are there. */
  #isStream: boolean | undefined;
  /** The body may be an answer in one piece, which waits for its end. */
  #isObject = false;
  /** The event under way is too long, and its beginning was passed on. */
  #isPassing = false;

  private constructor(format: EventFormat) {
    this.#format = format;
  }

  /** Undefined for an API whose streams are no server-sent events. */
  static for(api: string | undefined): EventMender | undefined {
    const format = api === undefined ? undefined : formatFor(api);
    return format && new EventMender(format);
  }

  /** The events that are complete. */
  take(bytes: Uint8Array): Uint8Array {
    // Latin-1 gives one character for each byte, so that a character may be cut between two pieces.
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
    if (this.#isStream === undefined && text.trim() !== "") {
      this.#isStream = BEGINS.test(text);
      this.#isObject = this.#format.whole !== undefined && text.trimStart().startsWith("{");
    }
    if (this.#isObject) return this.#held(text);
    if (this.#isStream !== true) return bytes;
    const before = this.#rest;
    const events = this.#events(before + text).map((event) => this.#mended(event));
    const given = events.join("") + this.#passed();
    if (before === "" && given === text) return bytes;
    return Buffer.from(given, "latin1");
  }

  /** Bytes that still wait at the end of the body. */
  end(): Uint8Array {
    const rest = this.#rest;
    this.#rest = "";
    return Buffer.from(this.#isObject ? this.#fromWhole(rest) : this.#mended(rest), "latin1");
  }

  #held(text: string): Uint8Array {
    this.#rest += text;
    if (this.#rest.length < MOST_HELD) return Buffer.alloc(0);
    this.#isObject = false;
    const passed = Buffer.from(this.#rest, "latin1");
    this.#rest = "";
    return passed;
  }

  /** An answer in one piece as an event; a body that is no answer, such as an error, as it came. */
  #fromWhole(body: string): string {
    const read = jsonIn(body);
    const value = isFields(read) ? this.#format.whole?.(read) : undefined;
    if (!value) return body;
    return this.#written(body, { name: undefined, value, isRepaired: true }) + eventOf(undefined, "[DONE]");
  }

  /** The complete events; the incomplete one waits. */
  #events(text: string): readonly string[] {
    const events: string[] = [];
    let at = 0;
    END.lastIndex = Math.max(0, this.#searched - END_LENGTH);
    for (let end = END.exec(text); end; end = END.exec(text)) {
      events.push(text.slice(at, END.lastIndex));
      at = END.lastIndex;
    }
    this.#rest = text.slice(at);
    this.#searched = this.#rest.length;
    return events;
  }

  #passed(): string {
    if (!this.#isPassing && this.#rest.length < MOST_HELD) return "";
    const rest = this.#rest;
    this.#isPassing = true;
    this.#rest = "";
    this.#searched = 0;
    return rest;
  }

  #mended(event: string): string {
    if (this.#isPassing) {
      this.#isPassing = false;
      return event;
    }
    const { name, data } = partsOf(event);
    if (data.length === 0 || name === "error" || data[0]?.startsWith("[DONE]") === true) return event;
    if (data.every((line) => line === "")) return "";
    const value = jsonIn(data.join("\n"));
    if (value !== undefined) return this.#written(event, { name, value, isRepaired: false });
    // Some servers have no empty line between two events.
    if (data.length > 1) return data.map((one) => this.#mended(eventOf(name, one))).join("");
    const repaired = repairedJson(utf8(data[0] ?? ""));
    if (repaired !== undefined) return this.#written(event, { name, value: repaired, isRepaired: true });
    return this.#format.hasCalls || OF_CALLS.test(event) ? event : "";
  }

  #written(event: string, { name, value, isRepaired }: Read): string {
    if (!isFields(value)) return "";
    const { type } = value;
    const right = this.#format.isNamed && typeof type === "string" ? type : name;
    const mended = this.#format.mend(value);
    if (mended.length === 1 && mended[0] === value && right === name && !isRepaired) return event;
    return mended
      .map((one) => eventOf(this.#format.isNamed ? String(one["type"]) : name, latin1(JSON.stringify(one))))
      .join("");
  }
}

interface Read {
  readonly name: string | undefined;
  readonly value: unknown;
  readonly isRepaired: boolean;
}

/** The name of an event and its lines of data. */
function partsOf(event: string): { readonly name: string | undefined; readonly data: readonly string[] } {
  let name: string | undefined;
  const data: string[] = [];
  for (const line of event.split(/\r?\n/)) {
    if (line.startsWith("data:")) data.push(line.slice("data:".length).trim());
    else if (line.startsWith("event:")) name = line.slice("event:".length).trim();
  }
  return { name, data };
}

const eventOf = (name: string | undefined, data: string): string =>
  `${name === undefined ? "" : `event: ${name}\n`}data: ${data}\n\n`;

const utf8 = (bytes: string): string => Buffer.from(bytes, "latin1").toString("utf8");
const latin1 = (text: string): string => Buffer.from(text, "utf8").toString("latin1");

/** Value of a text; undefined when the text is no JSON. */
function jsonIn(data: string): unknown {
  try {
    return JSON.parse(utf8(data));
  } catch {
    return undefined;
  }
}
