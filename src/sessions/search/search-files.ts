import { runRipgrep, SEARCH_MS } from "../../tools/host/ripgrep.ts";
import type { TranscriptEntry } from "../../types/session.ts";
import { parseLine } from "../transcript/entries.ts";

/** Bytes of an entry; longer entries, such as entries with images, are not searched. */
const MOST_LINE = 60_000;
/** Lines of one transcript that are looked at, the newest ones, and lines that are found before the search ends. */
const MOST_OF_FILE = 200;
const MOST_LINES = 50_000;
/** Files that one command line can name. */
const MOST_FILES = 2000;

export interface FoundEntry {
  readonly file: string;
  readonly entry: TranscriptEntry;
}

export interface FoundEntries {
  readonly found: readonly FoundEntry[];
  /** There may be more. */
  readonly isPartial: boolean;
}

/**
 * The entries of transcripts whose lines have any of the words, in capitals or not. They are read by a process of its
 * own, so nothing waits for it, and as they are on the disk now. Throws when `signal` aborts.
 */
export async function searchFiles(
  files: readonly string[],
  words: readonly string[],
  signal: AbortSignal,
): Promise<FoundEntries> {
  const searched = files.slice(0, MOST_FILES);
  if (searched.length === 0 || words.length === 0) return { found: [], isPartial: false };
  const lines = new Map<string, string[]>();
  let count = 0;
  const end = await runRipgrep({
    args: [
      ..."--ignore-case --fixed-strings --no-heading --with-filename --no-line-number --null --no-ignore".split(" "),
      `--max-columns=${MOST_LINE}`,
      ...words.map((word) => `--regexp=${word}`),
      "--",
      ...searched,
    ],
    over: { cwd: "/" },
    separator: "\n",
    signal,
    deadline: AbortSignal.timeout(SEARCH_MS),
    take(record) {
      count += 1;
      keep(record, lines);
      return count < MOST_LINES;
    },
  });
  const found = [...lines].flatMap(([file, texts]) => texts.flatMap((text) => entryIn(file, text)));
  const isCut = count >= MOST_LINES || [...lines.values()].some((texts) => texts.length >= MOST_OF_FILE);
  return { found, isPartial: end.isLate || end.isPartial || isCut || searched.length < files.length };
}

/** A record is the path, a NUL character, and the line. */
function keep(record: string, lines: Map<string, string[]>): void {
  const cut = record.indexOf("\0");
  if (cut < 0) return;
  const file = record.slice(0, cut);
  const texts = lines.get(file) ?? [];
  texts.push(record.slice(cut + 1));
  if (texts.length > MOST_OF_FILE) texts.shift();
  lines.set(file, texts);
}

/** A line that is too long comes as a remark, which is no entry. */
function entryIn(file: string, text: string): readonly FoundEntry[] {
  const line = parseLine(text, 0);
  return line.kind === "entry" && line.link.entry ? [{ file, entry: line.link.entry }] : [];
}
