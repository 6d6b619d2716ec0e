/** Most lines of a text that is compared, and most lines that may differ. */
const MOST_LINES = 20_000;
const MOST_EDITS = 2000;
/** Time limit of one comparison in milliseconds. */
const COMPARED_MS = 500;

/** The effect of a write, for people and the page. */
export interface Change {
  readonly changed: true;
  readonly created: boolean;
  /** Line number, counted from 1, in the new text. */
  readonly firstChangedLine: number;
  /** The lines that differ, with their numbers; unset when the texts are too long or differ too much. */
  readonly diff?: string;
  /** The same lines in the unified format, which `patch` and `git apply` read. */
  readonly patch?: string;
}

/** Compares a file's old and new text; `before` is undefined for a new file. */
export async function changeOf(
  path: string,
  before: string | undefined,
  after: string,
): Promise<Change & Record<string, unknown>> {
  const old = before ?? "";
  const facts = {
    changed: true as const,
    created: before === undefined,
    firstChangedLine: firstDifference(old, after),
  };
  if (isLong(old) || isLong(after)) return facts;
  // Loaded late: most runs write no file.
  const { formatPatch, structuredPatch } = await import("diff");
  const limits = { context: 3, maxEditLength: MOST_EDITS, timeout: COMPARED_MS };
  const found = structuredPatch(path, path, old, after, undefined, undefined, limits);
  if (!found) return facts;
  return { ...facts, diff: found.hunks.map(numbered).join("\n…\n"), patch: formatPatch(found) };
}

interface Hunk {
  readonly oldStart: number;
  readonly newStart: number;
  readonly lines: readonly string[];
}

/** The lines of a hunk with numbers: a removed line has its old number, any other its new one. */
function numbered({ oldStart, newStart, lines }: Hunk): string {
  let [before, after] = [oldStart, newStart];
  const shown = lines.map((line) => {
    const sign = line.charAt(0);
    const number = sign === "-" ? before : after;
    if (sign !== "+") before += 1;
    if (sign !== "-") after += 1;
    return `${sign}${number} ${line.slice(1)}`;
  });
  return shown.join("\n");
}

const isLong = (text: string): boolean => countLines(text, text.length) > MOST_LINES;

function firstDifference(a: string, b: string): number {
  let at = 0;
  while (at < a.length && at < b.length && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  return countLines(b, at);
}

/** The number of the line that contains a place of a text. */
function countLines(text: string, end: number): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < end; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}
