import { spanTest, type FenceSpan } from "./fences.ts";

/** A line outside of code fences. */
export interface TextLine {
  readonly start: number;
  /** End without the line break. */
  readonly end: number;
  readonly text: string;
  /** The line break of the line is there. */
  readonly isWhole: boolean;
}

const BLOCK_START = /^[ \t]*(?:[-+*][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|>)/;

/** Whether a line begins a new block, which ends an open mark of the line before. */
export const isBlockStart = (line: string): boolean => BLOCK_START.test(line);

/** The lines of a text without the lines of its fences; the last line has no line break, and may be empty. */
export function linesOutsideFences(text: string, fences: readonly FenceSpan[]): TextLine[] {
  const lines: TextLine[] = [];
  const inFence = spanTest(fences.map((fence) => ({ ...fence, start: fence.start - 1 })));
  for (let start = 0; start <= text.length;) {
    const newline = text.indexOf("\n", start);
    const end = newline < 0 ? text.length : newline;
    if (!inFence(start)) lines.push({ start, end, text: text.slice(start, end), isWhole: newline >= 0 });
    start = end + 1;
  }
  return lines;
}
