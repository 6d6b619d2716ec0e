import { closesOnLine, lineRest, newCodeState, settleRun, stepCode } from "./code-state.ts";
import type { CodeState, LineRest } from "./code-state.ts";

/** What a matcher gets in addition to the text. */
export interface MatchPlace {
  /** Only indentation is before it on its line. */
  readonly lineStart: boolean;
  /** An earlier match switched code tracking off. */
  readonly raw: boolean;
  /** No more text will follow. */
  readonly last: boolean;
}

/** A marker found at the start of the text given to the matcher. */
export interface Match<T> {
  readonly value: T;
  /** UTF-16 units that belong to it. */
  readonly length: number;
  /** From here on no code is tracked (true) or it is again (false). */
  readonly raw?: boolean;
}

/**
 * Checks whether `text` begins with a marker. It returns `"more"` when only further text can tell, and it must not change
 * its mind when text is added after any other answer. With `place.last` it never returns `"more"`.
 */
export type Matcher<T> = (text: string, place: MatchPlace) => Match<T> | "more" | undefined;

/** A stretch of plain text or a marker. */
export type Piece<T> = { readonly kind: "text"; readonly text: string } | { readonly kind: "match"; readonly value: T };

/** A stateful scan of a text that arrives in parts. The pieces do not depend on where the parts were cut. */
export interface Scanner<T> {
  push(delta: string): Piece<T>[];
  end(): Piece<T>[];
}

/**
 * Finds markers outside of Markdown code. `beginnings` is global and finds every place at which one may begin; others too. It must not
 * depend on what comes before the place.
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

  push(delta: string): Piece<T>[] {
    this.#scan.text += delta;
    return this.#drain(false);
  }

  end(): Piece<T>[] {
    return this.#drain(true);
  }

  #drain(last: boolean): Piece<T>[] {
    return drain(this.#scan, { beginnings: this.#beginnings, match: this.#match, last });
  }
}

interface Scan {
  text: string;
  raw: boolean;
  readonly code: CodeState;
  /** What is known of the line in `text` that was looked at last. */
  line?: LineRest | undefined;
}

interface Rules<T> {
  readonly beginnings: RegExp;
  readonly match: Matcher<T>;
  readonly last: boolean;
}

function drain<T>(scan: Scan, rules: Rules<T>): Piece<T>[] {
  const pieces: Piece<T>[] = [];
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
