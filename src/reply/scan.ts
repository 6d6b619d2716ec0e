import { closesOnLine, isWithinLine, lineRest, newCodeState, settleRun, stepCode } from "./code-state.ts";
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

/** How the markers of a scan begin. */
export interface Beginnings {
  /** Their first signs. */
  readonly triggers: string;
  /** Finds, from its `lastIndex` on, every sign at which one may begin, and every line break, backtick and tilde; others too. */
  readonly special: RegExp;
}

/** Markers that begin with one of these signs. */
export const beginningWith = (triggers: string): Beginnings => ({
  triggers,
  special: new RegExp(`[\\n\`~${triggers.replace(/[\]\\^-]/g, "\\$&")}]`, "g"),
});

/** Finds markers outside of Markdown code. */
export function createScanner<T>(beginnings: Beginnings, match: Matcher<T>): Scanner<T> {
  const scan: Scan = { text: "", raw: false, code: newCodeState() };
  return {
    push(delta) {
      scan.text += delta;
      return drain(scan, { ...beginnings, match, last: false });
    },
    end() {
      return drain(scan, { ...beginnings, match, last: true });
    },
  };
}

interface Scan {
  text: string;
  raw: boolean;
  readonly code: CodeState;
  /** What is known of the line in `text` that was looked at last. */
  line?: LineRest | undefined;
}

interface Rules<T> extends Beginnings {
  readonly match: Matcher<T>;
  readonly last: boolean;
}

function drain<T>(scan: Scan, rules: Rules<T>): Piece<T>[] {
  const pieces: Piece<T>[] = [];
  let from = 0;
  let at = 0;
  while (at < scan.text.length) {
    const unit = scan.text.charAt(at);
    const found = rules.triggers.includes(unit) ? look(scan, at, rules) : undefined;
    if (found === "more") break;
    if (found === undefined) {
      if (!scan.raw) stepCode(scan.code, unit);
      at = scan.raw || isWithinLine(scan.code) ? next(rules.special, scan.text, at + 1) : at + 1;
      continue;
    }
    if (at > from) pieces.push({ kind: "text", text: scan.text.slice(from, at) });
    pieces.push({ kind: "match", value: found.value });
    scan.raw = found.raw ?? scan.raw;
    at += found.length;
    from = at;
  }
  if (at > from) pieces.push({ kind: "text", text: scan.text.slice(from, at) });
  scan.text = scan.text.slice(at);
  scan.line = undefined;
  return pieces;
}

function next(special: RegExp, text: string, from: number): number {
  special.lastIndex = from;
  return special.exec(text)?.index ?? text.length;
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
