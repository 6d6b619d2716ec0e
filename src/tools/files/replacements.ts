import { fold, type FoldedText } from "./folded.ts";
import { nearestText } from "./nearest-lines.ts";

/** A text that occurs once in a file, and the text that replaces it. */
export interface Replacement {
  readonly oldText: string;
  readonly newText: string;
}

interface Match {
  readonly start: number;
  readonly end: number;
  readonly newText: string;
}

/** Most characters of a file in which similar texts are searched. */
const MOST_FOLDED = 2_000_000;
/** Most characters that all edits of one call may search, so that other chats are not kept waiting. */
const MOST_SEARCHED = 100_000_000;

/** A file's content, in which the texts of edits are found. */
class Searched {
  readonly content: string;
  #folded: FoldedText | undefined;

  constructor(content: string) {
    this.content = content;
  }

  match({ oldText, newText }: Replacement, number: number): Match {
    const [start, second] = placesOf(oldText, this.content);
    if (second !== undefined) throw new Error(ambiguous(number));
    if (start !== undefined) return { start, end: start + oldText.length, newText };
    return this.#similar(oldText, newText, number);
  }

  /** The place of a similar text. Models write plain quotes and spaces where a file has typographic ones. */
  #similar(oldText: string, newText: string, number: number): Match {
    const wanted = this.content.length > MOST_FOLDED || oldText.length > MOST_FOLDED ? "" : fold(oldText).text;
    if (wanted.trim() === "") throw new Error(missing(number, this.content, oldText));
    const { text, starts, ends } = (this.#folded ??= fold(this.content));
    const [at, second] = placesOf(wanted, text);
    if (second !== undefined) throw new Error(ambiguous(number));
    if (at === undefined) throw new Error(missing(number, this.content, oldText));
    const start = starts[at] ?? 0;
    const end = ends[at + wanted.length - 1] ?? start;
    const isWindows = this.content.slice(start, end).includes("\r\n");
    return { start, end, newText: isWindows ? newText.replaceAll(/\r?\n/g, "\r\n") : newText };
  }
}

const ambiguous = (number: number): string =>
  `Edit ${number}: its oldText occurs in the file more than once. Add surrounding lines until it is unique.`;

const missing = (number: number, content: string, oldText: string): string =>
  `Edit ${number}: its oldText is not in the file, and no part of the file differs from it only in spaces, quotes and ` +
  `dashes. ${nearestText(content, oldText)}\nRead the file again and copy the text from it.`;

/**
 * Applies all edits, each matched against the content as given: exactly, else without regard to the amount of space and
 * to the kind of quotes and dashes. Throws when an edit's text is missing or ambiguous, when two edits overlap, and
 * when there are too many edits for the file.
 */
export function applyEdits(content: string, edits: readonly Replacement[]): string {
  const characters = edits.reduce((sum, { oldText }) => sum + content.length + oldText.length, 0);
  if (characters > MOST_SEARCHED)
    throw new Error("There are too many edits for a file of this size; make fewer at once.");
  const searched = new Searched(content);
  const matches = edits.map((edit, index) => searched.match(edit, index + 1)).toSorted((a, b) => a.start - b.start);
  let result = "";
  let position = 0;
  for (const { start, end, newText } of matches) {
    if (start < position) throw new Error("Two edits overlap; join them into one.");
    result += content.slice(position, start) + newText;
    position = end;
  }
  return result + content.slice(position);
}

/** Product of the lengths up to which the engine's own search is fast even for its worst texts. */
const MOST_QUADRATIC = 20_000_000;

/**
 * The first two places of a text in another one, which may overlap. The time grows with the lengths, never with their
 * product.
 */
function placesOf(wanted: string, text: string): readonly number[] {
  if (wanted === "") return [];
  const next = wanted.length * text.length > MOST_QUADRATIC ? linear(wanted, text) : plain(wanted, text);
  const first = next(0);
  if (first < 0) return [];
  const second = next(first + 1);
  return second < 0 ? [first] : [first, second];
}

type Search = (from: number) => number;

const plain =
  (wanted: string, text: string): Search =>
  (from) =>
    text.indexOf(wanted, from);

/** The search of Knuth, Morris and Pratt, which looks at each character of the text once. */
function linear(wanted: string, text: string): Search {
  const borders = bordersOf(wanted);
  return (from) => {
    let matched = 0;
    for (let at = from; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      while (matched > 0 && wanted.charCodeAt(matched) !== code) matched = borders[matched - 1] ?? 0;
      if (wanted.charCodeAt(matched) === code) matched += 1;
      if (matched === wanted.length) return at - matched + 1;
    }
    return -1;
  };
}

/** For each beginning of the text the length of its longest proper beginning that is also its end. */
function bordersOf(text: string): Int32Array {
  const borders = new Int32Array(text.length);
  let length = 0;
  for (let at = 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    while (length > 0 && text.charCodeAt(length) !== code) length = borders[length - 1] ?? 0;
    if (text.charCodeAt(length) === code) length += 1;
    borders[at] = length;
  }
  return borders;
}
