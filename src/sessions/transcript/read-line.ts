import type { RawLine } from "./back-reader.ts";
import { parseLine, type EntryReading, type WrittenLink } from "./entries.ts";

/** An entry and its position in the file. */
export interface Placed {
  readonly link: WrittenLink;
  /** The byte where the entry begins. */
  readonly offset: number;
  /** The byte after the entry. */
  readonly end: number;
}

/** The content of a transcript's line. */
export interface ReadLine extends EntryReading {
  /** Oldest first. Several when the newline between them is missing, none for a line that is no entry. */
  readonly entries: readonly Placed[];
  /** The line is no JSON object. */
  readonly isTorn: boolean;
}

/** Reads one line, and what can be read of a damaged one. */
export function readLine(raw: RawLine): ReadLine {
  const { offset, end } = raw;
  // Some editors put a byte order mark in front.
  const text = offset === 0 ? raw.text.replace(/^\uFEFF/, "") : raw.text;
  const line = parseLine(text, offset);
  if (line.kind === "foreign") return { entries: [], isTorn: false, isOdd: false, isWhole: true };
  if (line.kind === "entry") {
    const { link, isOdd } = line;
    return { entries: [{ link, offset, end }], isTorn: false, isOdd, isWhole: line.isWhole && raw.isCut !== true };
  }
  const torn = { isTorn: true, isOdd: false, isWhole: false };
  // The places in a shortened text are not those of the file.
  const pieces = raw.isCut ? [] : piecesOf(raw);
  if (pieces.length > 0) return { entries: pieces, ...torn };
  return { entries: line.link ? [{ link: line.link, offset, end }] : [], ...torn };
}

/** The next entry of a line begins after another entry, or after the zeros that a power cut left. */
const SEAM = /(?<=\}[^{]{0,3}|\0)\{"(?:id|type)":"/g;
const ZERO = 0;

function withoutZeros(text: string): string {
  let end = text.length;
  while (text.charCodeAt(end - 1) === ZERO) end -= 1;
  return text.slice(0, end);
}

/** The entries of a line that contains several, if at least one can be read. */
function piecesOf({ text, offset, end }: RawLine): readonly Placed[] {
  const starts = [...text.matchAll(SEAM)].map((match) => match.index);
  const found: Placed[] = [];
  let last = text.length;
  for (const start of [...starts.toReversed(), 0]) {
    const piece = withoutZeros(text.slice(start, last)).replace(/[^}]{0,3}$/, "");
    const at = offset + Buffer.byteLength(text.slice(0, start));
    const line = parseLine(piece, at);
    if (line.kind === "bad" && start !== 0) continue;
    last = start;
    const link = line.kind === "foreign" ? undefined : line.link;
    if (link) found.push({ link, offset: at, end: found.at(-1)?.offset ?? end });
  }
  return found.toReversed();
}
