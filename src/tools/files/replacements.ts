import { fold, type Folded } from "./folded.ts";
import { nearestText } from "./nearest-lines.ts";
import { placesOf } from "./places.ts";

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

/** Characters of a file in which similar texts are searched. */
const MOST_FOLDED = 2_000_000;
/** Characters that all edits of one call may search, so that the other chats are not kept waiting. */
const MOST_SEARCHED = 100_000_000;

/** A file's content, in which the texts of edits are found. */
class Searched {
  readonly content: string;
  #folded: Folded | undefined;

  constructor(content: string) {
    this.content = content;
  }

  match({ oldText, newText }: Replacement, number: number): Match {
    const [start, second] = placesOf(oldText, this.content);
    if (second !== undefined) throw new Error(ambiguous(number));
    if (start !== undefined) return { start, end: start + oldText.length, newText };
    return this.#similar(oldText, newText, number);
  }

  /** Models write plain quotes and spaces where a file has typographic ones. */
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
 * Applies all edits, each matched against the content as given: exactly, else without regard to the amount of space and to the
 * kind of quotes and dashes. Throws when one is missing, ambiguous or overlaps another, and when there are too many for the file.
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
