import { fold } from "../folded.ts";
import { keepingLineEnds } from "../line-ends.ts";
import { nearestText } from "../nearest-lines.ts";
import type { Hunk } from "./envelope.ts";

/** Lines that may be compared for one file, so that the other chats are not kept waiting. */
const MOST_COMPARED = 5_000_000;

/** Two lines are the same: exactly, apart from spaces at their ends, and apart from the kind of spaces, quotes and dashes. */
const FORMS: readonly ((line: string) => string)[] = [
  (line) => line,
  (line) => line.trimEnd(),
  (line) => fold(line.trim()).text,
];

/** A file's text with all places of a patch changed. Throws a text for the model when one of them is not in the file. */
export const patched = (path: string, content: string, hunks: readonly Hunk[]): string =>
  keepingLineEnds(content, (text) => patchedLines(path, text, hunks));

function patchedLines(path: string, text: string, hunks: readonly Hunk[]): string {
  const lines = linesOf(text);
  const search = new LineSearch(lines);
  const pieces: (readonly string[])[] = [];
  let done = 0;
  for (const [index, hunk] of hunks.entries()) {
    const at = placeOf(hunk, { search, from: done });
    if (at === undefined) throw new Error(missing(path, index + 1, hunk, text));
    pieces.push(lines.slice(done, at), hunk.newLines);
    done = at + hunk.oldLines.length;
  }
  const result = [...pieces, lines.slice(done)].flat();
  return result.length === 0 ? "" : result.join("\n") + (hasLastEnd(text) ? "\n" : "");
}

/** A last line without an end keeps none; lines that are added to an empty file get one. */
const hasLastEnd = (text: string): boolean => text === "" || text.endsWith("\n");

const linesOf = (text: string): readonly string[] =>
  text === "" ? [] : (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");

const missing = (path: string, number: number, { after, oldLines }: Hunk, text: string): string =>
  `Place ${number} of ${path}: ${after === undefined ? "its lines are" : `"${after}" followed by its lines is`} not in the file ` +
  `after the place before. ${nearestText(text, oldLines.join("\n") || (after ?? ""))}\nRead the file again and copy the lines from it.`;

function placeOf(
  { after, oldLines, isAtEnd }: Hunk,
  { search, from }: { readonly search: LineSearch; readonly from: number },
): number | undefined {
  const begin = after === undefined ? from : search.find([after], from);
  if (begin === undefined) return undefined;
  // The line itself may be the first one of the place.
  const start = after === undefined ? begin : begin + 1;
  if (oldLines.length === 0) return after === undefined || isAtEnd ? search.lines.length : start;
  if (isAtEnd) return search.find(oldLines, Math.max(from, search.lines.length - oldLines.length));
  return search.find(oldLines, start) ?? (after === undefined ? undefined : search.find(oldLines, begin));
}

/** The lines of a file, which are searched in each of the forms. */
class LineSearch {
  readonly lines: readonly string[];
  readonly #forms = new Map<number, readonly string[]>();
  #compared = 0;

  constructor(lines: readonly string[]) {
    this.lines = lines;
  }

  /** Where some lines follow each other, at `from` or after it; the most exact form counts. */
  find(wanted: readonly string[], from: number): number | undefined {
    for (const [index, form] of FORMS.entries()) {
      const at = this.#findIn(this.#inForm(index, form), wanted.map(form), from);
      if (at !== undefined) return at;
    }
    return undefined;
  }

  #inForm(index: number, form: (line: string) => string): readonly string[] {
    const known = this.#forms.get(index);
    if (known) return known;
    const made = this.lines.map(form);
    this.#forms.set(index, made);
    return made;
  }

  #findIn(lines: readonly string[], wanted: readonly string[], from: number): number | undefined {
    for (let at = from; at + wanted.length <= lines.length; at += 1) {
      let same = 0;
      while (same < wanted.length && lines[at + same] === wanted[same]) same += 1;
      if (same === wanted.length) return at;
      this.#compared += same + 1;
      if (this.#compared > MOST_COMPARED)
        throw new Error("The search for the lines of the patch takes too long in this file; use edit, or write.");
    }
    return undefined;
  }
}
