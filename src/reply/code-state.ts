/** An open fenced code block: its marker character and the marker's length. */
export interface Fence {
  readonly mark: string;
  readonly size: number;
}

/**
 * Whether a scan is inside Markdown code. Inline code counts within one line only, so that a stray
 * backtick cannot turn the rest of a reply into code.
 */
export interface CodeState {
  /** The fenced block that the scan is in. */
  fence: Fence | undefined;
  /** Length of the backtick run that opened inline code on this line, 0 when none is open. */
  open: number;
  /** Only indentation and quote marks were seen on this line. */
  lineStart: boolean;
  /** This line opens a fence when it ends without another backtick run. */
  opening: Fence | undefined;
  /** This line closes the fence when nothing but blanks follows. */
  closing: boolean;
  run: { mark: string; size: number; lineStart: boolean } | undefined;
}

/** The state at the start of a text. */
export function newCodeState(): CodeState {
  return { fence: undefined, open: 0, lineStart: true, opening: undefined, closing: false, run: undefined };
}

const LINE_END = 0x0a;
const BACKTICK = 0x60;
const TILDE = 0x7e;
const QUOTE_MARK = 0x3e;

/** Moves the state over the UTF-16 units of `text` from `from` up to `to`. */
export function stepCode(state: CodeState, text: string, { from, to }: { from: number; to: number }): void {
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
export function settleRun(state: CodeState): void {
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

/** What follows a place on its line. */
export interface LineRest {
  /** Units of the run of backticks that is looked for. */
  readonly size: number;
  /** The place of the line break; the text's length without one. */
  readonly end: number;
  /** The first such run. */
  readonly closing: { readonly start: number; readonly end: number } | undefined;
  /** Where the last run of any size begins; -1 without one. Known when there is no `closing`. */
  readonly lastRun: number;
}

/** What follows `from` on its line. `known` is what followed an earlier place of the same text: the same text is not read twice. */
export function lineRest({ open: size }: CodeState, text: string, from: number, known?: LineRest): LineRest {
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

/** Whether inline code that is open at `from` closes later on its line; `undefined` when only further text can tell. */
export function closesOnLine(
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
