/** Facts about the text that a matcher gets. */
export interface MatchPlace {
  /** Only indentation is before the text on its line. */
  readonly lineStart: boolean;
  /** An earlier match switched code tracking off. */
  readonly raw: boolean;
  /** No more text will follow. */
  readonly last: boolean;
}

/** A marker found at the start of the text given to the matcher. */
export interface Match<T> {
  readonly value: T;
  /** UTF-16 units that belong to the marker. */
  readonly length: number;
  /** Ends (true) or begins (false) the tracking of code from here on. */
  readonly raw?: boolean;
}

/**
 * Checks whether `text` begins with a marker. Returns `"more"` when only further text can decide; any other answer must
 * stay the same when text is added. With `place.last` it never returns `"more"`.
 */
export type Matcher<T> = (text: string, place: MatchPlace) => Match<T> | "more" | undefined;

/** A stretch of plain text or a marker. */
export type ScannedPiece<T> =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "match"; readonly value: T };

/** A stateful scan of a text that arrives in parts. The pieces do not depend on where the parts were cut. */
export interface Scanner<T> {
  push(delta: string): ScannedPiece<T>[];
  end(): ScannedPiece<T>[];
}

/**
 * Finds markers outside of Markdown code. `beginnings` is global and finds every place at which a marker may begin, and
 * maybe others. It must not depend on the text before the place.
 */
export const createScanner = <T>(beginnings: RegExp, match: Matcher<T>): Scanner<T> =>
  new TextScanner(beginnings, match);

class TextScanner<T> implements Scanner<T> {
  readonly #scan: Scan = { text: "", raw: false, code: newCodeState() };
  readonly #beginnings: RegExp;
  readonly #match: Matcher<T>;

  constructor(beginnings: RegExp, match: Matcher<T>) {
    this.#beginnings = beginnings;
    this.#match = match;
  }

  push(delta: string): ScannedPiece<T>[] {
    this.#scan.text += delta;
    return this.#drain(false);
  }

  end(): ScannedPiece<T>[] {
    return this.#drain(true);
  }

  #drain(last: boolean): ScannedPiece<T>[] {
    return drain(this.#scan, { beginnings: this.#beginnings, match: this.#match, last });
  }
}

interface Scan {
  text: string;
  raw: boolean;
  readonly code: CodeState;
  /** Rest of the line in `text` that was read last. */
  line?: LineRest | undefined;
}

interface Rules<T> {
  readonly beginnings: RegExp;
  readonly match: Matcher<T>;
  readonly last: boolean;
}

function drain<T>(scan: Scan, rules: Rules<T>): ScannedPiece<T>[] {
  const pieces: ScannedPiece<T>[] = [];
  const { text } = scan;
  let from = 0;
  let stepped = 0;
  let at = next(rules.beginnings, text, 0);
  for (;;) {
    if (!scan.raw) stepCode(scan.code, text, { from: stepped, to: at });
    stepped = at;
    const found = at < text.length ? look(scan, at, rules) : "more";
    if (found === "more") break;
    if (found !== undefined) {
      if (at > from) pieces.push({ kind: "text", text: text.slice(from, at) });
      pieces.push({ kind: "match", value: found.value });
      scan.raw = found.raw ?? scan.raw;
      from = at + found.length;
      stepped = from;
    }
    at = next(rules.beginnings, text, Math.max(from, at + 1));
  }
  if (at > from) pieces.push({ kind: "text", text: text.slice(from, at) });
  scan.text = text.slice(at);
  scan.line = undefined;
  return pieces;
}

/** The next place at which a marker may begin; the text's length without one. */
function next(beginnings: RegExp, text: string, from: number): number {
  beginnings.lastIndex = from;
  return beginnings.exec(text)?.index ?? text.length;
}

function look<T>(scan: Scan, at: number, rules: Rules<T>): Match<T> | "more" | undefined {
  const { code, raw } = scan;
  if (!raw) settleRun(code);
  if (!raw && code.fence !== undefined) return undefined;
  const place = { lineStart: code.lineStart, raw, last: rules.last };
  const found = rules.match(scan.text.slice(at), place);
  if (found === undefined || found === "more" || raw || code.open === 0) return found;
  scan.line = lineRest(code, scan.text, at, scan.line);
  const length = scan.text.length + Number(rules.last);
  const inCode = closesOnLine(code, scan.line, { from: at, length });
  if (inCode === undefined) return "more";
  return inCode ? undefined : found;
}

/** An open fenced code block: its marker character and the marker's length. */
interface Fence {
  readonly mark: string;
  readonly size: number;
}

/**
 * Whether a scan is inside Markdown code. Inline code counts within one line only, so that a stray
 * backtick cannot turn the rest of a reply into code.
 */
interface CodeState {
  /** The fenced block that the scan is in. */
  fence: Fence | undefined;
  /** Length of the backtick run that opened inline code on this line, 0 when none is open. */
  open: number;
  /** Only indentation and quote marks were seen on this line. */
  lineStart: boolean;
  /** The fence that this line opens if it ends without another backtick run. */
  opening: Fence | undefined;
  /** Whether this line closes the fence if nothing but blanks follows. */
  closing: boolean;
  run: { mark: string; size: number; lineStart: boolean } | undefined;
}

/** The state at the start of a text. */
function newCodeState(): CodeState {
  return { fence: undefined, open: 0, lineStart: true, opening: undefined, closing: false, run: undefined };
}

const LINE_END = 0x0a;
const BACKTICK = 0x60;
const TILDE = 0x7e;
const QUOTE_MARK = 0x3e;

/** Moves the state over the UTF-16 units of `text` from `from` up to `to`. */
function stepCode(state: CodeState, text: string, { from, to }: { from: number; to: number }): void {
  for (let at = from; at < to;) {
    const unit = text.charCodeAt(at);
    const { run } = state;
    if (run !== undefined && run.mark.charCodeAt(0) === unit) {
      run.size += 1;
      at += 1;
      continue;
    }
    step(state, unit);
    at += 1;
    if (isWithinLine(state)) at = plainEnd(text, at, to);
  }
}

/** Moves the state over one unit that does not continue a run. */
function step(state: CodeState, unit: number): void {
  if (state.run !== undefined) settleRun(state);
  if (unit === LINE_END) return endLine(state);
  if (unit === BACKTICK || unit === TILDE) {
    state.run = { mark: unit === BACKTICK ? "`" : "~", size: 1, lineStart: state.lineStart };
    state.lineStart = false;
    return;
  }
  if (isBlank(unit)) return;
  state.closing = false;
  if (unit !== QUOTE_MARK) state.lineStart = false;
}

/** Whether only a line break, a backtick or a tilde can change the state. */
const isWithinLine = ({ run, closing, lineStart }: CodeState): boolean => run === undefined && !closing && !lineStart;

/** Where the units end, from `from` on, that change nothing within a line. */
function plainEnd(text: string, from: number, to: number): number {
  let at = from;
  for (; at < to; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === LINE_END || unit === BACKTICK || unit === TILDE) break;
  }
  return at;
}

/** Ends the run of backticks or tildes that the last steps went through. */
function settleRun(state: CodeState): void {
  const run = state.run;
  if (run === undefined) return;
  state.run = undefined;
  const opens = run.lineStart && run.size >= 3 ? { mark: run.mark, size: run.size } : undefined;
  if (state.fence !== undefined) {
    state.closing = opens?.mark === state.fence.mark && opens.size >= state.fence.size;
  } else if (run.mark === "~") {
    state.opening ??= opens;
  } else {
    settleInline(state, run.size, opens);
  }
}

function settleInline(state: CodeState, size: number, opens: Fence | undefined): void {
  if (state.open === 0) {
    state.open = size;
    state.opening = opens;
    return;
  }
  if (size === state.open) state.open = 0;
  if (state.opening?.mark === "`") state.opening = undefined;
}

/** Facts about the rest of a line after a place. */
interface LineRest {
  /** Units of the run of backticks that is looked for. */
  readonly size: number;
  /** The place of the line break; the text's length without one. */
  readonly end: number;
  /** The first such run. */
  readonly closing: { readonly start: number; readonly end: number } | undefined;
  /** Where the last run of any size begins; -1 without one. Known when there is no `closing`. */
  readonly lastRun: number;
}

/**
 * Facts about the rest of the line after `from`. `known` belongs to an earlier place of the same text, so that no text
 * is read twice.
 */
function lineRest({ open: size }: CodeState, text: string, from: number, known?: LineRest): LineRest {
  const isSameLine = known !== undefined && from <= known.end;
  if (isSameLine && known.size === size && from <= (known.closing?.start ?? Infinity)) return known;
  const end = isSameLine ? known.end : lineEnd(text, from);
  return { size, end, ...closingRun(text, { from, end, size }) };
}

function lineEnd(text: string, from: number): number {
  const at = text.indexOf("\n", from);
  return at < 0 ? text.length : at;
}

function closingRun(
  text: string,
  { from, end, size }: { from: number; end: number; size: number },
): Pick<LineRest, "closing" | "lastRun"> {
  let lastRun = -1;
  for (let at = text.indexOf("`", from); at >= 0 && at < end; at = text.indexOf("`", at)) {
    lastRun = at;
    while (text.charAt(at) === "`") at += 1;
    if (at - lastRun === size) return { closing: { start: lastRun, end: at }, lastRun };
  }
  return { closing: undefined, lastRun };
}

/**
 * Whether inline code that is open at `from` closes later on its line; `undefined` when only further text can decide.
 */
function closesOnLine(
  state: CodeState,
  { end, closing, lastRun }: LineRest,
  { from, length }: { from: number; length: number },
): boolean | undefined {
  const certain = end < length || (closing !== undefined && closing.end < end);
  if (!certain) return undefined;
  if (closing !== undefined) return true;
  return state.opening !== undefined && lastRun < from;
}

function endLine(state: CodeState): void {
  if (state.fence === undefined) state.fence = state.opening;
  else if (state.closing) state.fence = undefined;
  state.open = 0;
  state.opening = undefined;
  state.closing = false;
  state.lineStart = true;
}

/** A space, a tab or a carriage return. */
const isBlank = (unit: number): boolean => unit === 0x20 || unit === 0x09 || unit === 0x0d;
