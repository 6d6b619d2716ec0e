/** A model answers a heartbeat with this when nothing needs attention. */
const HEARTBEAT_TOKEN = "HEARTBEAT_OK";

/**
 * Takes the heartbeat token from either end of a text, also where Markdown or HTML marks surround it. `silent` says that
 * the token was there and that at most `ackMaxChars` UTF-16 units of remark came with it, so that nothing is to be sent.
 * Takes time in proportion to the text's length.
 */
export function stripHeartbeatToken(
  text: string,
  ackMaxChars = 300,
): { text: string; stripped: boolean; silent: boolean } {
  const trimmed = text.trim();
  const start = skipHead(trimmed);
  const found = skipTail(trimmed, start).trim();
  const stripped = found.length < trimmed.length;
  const rest = stripped && ONLY_MARKS.test(found) ? "" : found;
  return { text: rest, stripped, silent: stripped && rest.length <= ackMaxChars };
}

const SIGN = "[*_`~]";
const TAG = "</?[a-z]{1,10}>";
const MARKS = `(?:${SIGN}|\\s|${TAG})*`;
const ONLY_MARKS = new RegExp(`^${MARKS}$`, "i");
/** The marks after the token end there. Later ones belong to the text. */
const HEAD_TOKEN = `${MARKS}${HEARTBEAT_TOKEN}(?![A-Za-z0-9_])(?:${SIGN}|${TAG})*[.!]?\\s*`;
const HEAD = new RegExp(HEAD_TOKEN, "iy");

/** Where the text begins after the tokens at its start. */
function skipHead(text: string): number {
  let start = 0;
  for (HEAD.lastIndex = 0; HEAD.test(text);) start = HEAD.lastIndex;
  return start;
}

const AFTER = new RegExp(`^(?:${SIGN}|${TAG})*[.!]?$`, "i");

/** The text from `start` on without the tokens at its end. */
function skipTail(text: string, start: number): string {
  const tokens = [...text.matchAll(new RegExp(HEARTBEAT_TOKEN, "gi"))].map(({ index }) => index);
  let end = text.length;
  for (let at = tokens.pop(); at !== undefined && at >= start; at = tokens.pop()) {
    if (!AFTER.test(text.slice(at + HEARTBEAT_TOKEN.length, end))) break;
    const begin = beginOfMarks(text, start, at);
    if (begin === undefined) break;
    end = start + text.slice(start, begin).trimEnd().length;
  }
  return text.slice(start, end);
}

const OPENING = new RegExp(`(?:${SIGN}|<[a-z]{1,10}>)$`, "i");
const LONGEST_TAG = 12;

/** Where the marks before the token begin; undefined when it is part of a word. */
function beginOfMarks(text: string, start: number, at: number): number | undefined {
  let begin = at;
  for (let mark: string | undefined = ""; mark !== undefined; begin -= mark?.length ?? 0)
    mark = OPENING.exec(text.slice(Math.max(start, begin - LONGEST_TAG), begin))?.[0];
  if (begin === start || !/[A-Za-z0-9]/.test(text.charAt(begin - 1))) return begin;
  return begin < at ? begin + 1 : undefined;
}

/** Takes the heartbeat token from a text that arrives in parts. */
export interface HeartbeatFilter {
  /** Returns what may be shown now: nothing that may turn out to be a token at either end of the text. */
  push(delta: string): string;
  /** Returns the rest. Call it once, at the end of the text. */
  end(): string;
}

/** UTF-16 units that may be held back. A text with more tokens at one end shows some of them. */
const MOST_HELD = 400;

/** Makes a filter for one text without blanks at its ends; its joined output is what `stripHeartbeatToken` leaves. */
export const createHeartbeatFilter = (): HeartbeatFilter => new TokenFilter();

class TokenFilter implements HeartbeatFilter {
  #held = "";
  #isBegun = false;
  /** Text that was removed at the start. */
  #head = "";
  /** The last sign that was released. It decides whether the next text is a token or the end of a word. */
  #before = "";

  push(delta: string): string {
    this.#held += delta;
    if (!this.#isBegun && this.#held.length <= MOST_HELD && OPEN_HEAD.test(this.#held)) return "";
    if (!this.#isBegun) this.#begin();
    const free = this.#held.slice(0, openTailOf(this.#held));
    this.#held = this.#held.slice(free.length);
    this.#before = free.at(-1) ?? this.#before;
    return free;
  }

  end(): string {
    if (this.#before === "") return stripHeartbeatToken(this.#head + this.#held).text;
    return skipTail(this.#before + this.#held, 0).slice(this.#before.length);
  }

  #begin(): void {
    this.#head = this.#held.slice(0, skipHead(this.#held));
    this.#held = this.#held.slice(this.#head.length);
    this.#isBegun = true;
  }
}

/** A beginning of the token, from its first letter on. */
const PART = HEARTBEAT_TOKEN.split("").reduceRight((rest, letter) => `${letter}(?:${rest})?`, "");
const TORN = `(?:</?[a-z]{0,10}|(?<![a-z0-9])${PART})?$`;
/** A text so far that may be nothing but tokens, also when its last word is torn. */
const OPEN_HEAD = new RegExp(`^(?:${HEAD_TOKEN})*${MARKS}${TORN}`, "i");
/** Text that may be tokens at the end of the text, if nothing else follows. */
const OPEN_TAIL = new RegExp(
  `(?:\\s|${SIGN}|${TAG}|(?<![a-z0-9])${HEARTBEAT_TOKEN}|(?<=_OK(?:${SIGN}|${TAG})*)[.!])*${TORN}`,
  "i",
);

function openTailOf(text: string): number {
  const from = Math.max(0, text.length - MOST_HELD);
  return from + text.slice(from).search(OPEN_TAIL);
}
