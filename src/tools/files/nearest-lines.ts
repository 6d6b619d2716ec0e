const MOST_NAMED = 3;
const LEAST_SIMILARITY = 0.45;
/** Most lines that are compared, and most characters of each. */
const MOST_LINES = 10_000;
const MOST_CHARS = 200;
/** Characters of the file's beginning that are shown when no line is similar. */
const BEGINNING = 800;

interface Near {
  readonly number: number;
  readonly line: string;
  readonly similarity: number;
}

/** Lines of a file that does not have the text of an edit, for the model. */
export function nearestText(content: string, wanted: string): string {
  const near = nearestLines(content, wanted);
  if (near.length === 0)
    return `No line of the file is similar. It begins:\n${content.slice(0, BEGINNING).toWellFormed()}`;
  const lines = near.map(({ number, line }) => `${number}: ${line.toWellFormed()}`);
  return `The most similar lines of the file:\n${lines.join("\n")}`;
}

/** The lines that are most similar to the longest line of a text, the most similar one first. */
function nearestLines(content: string, wanted: string): readonly Near[] {
  const longest = wanted.split("\n", MOST_LINES).reduce((a, b) => (b.trim().length > a.trim().length ? b : a), "");
  const pairs = pairsOf(cut(longest));
  if (pairs.size === 0) return [];
  const found: Near[] = [];
  for (const [index, whole] of content.split("\n", MOST_LINES).entries()) {
    const line = cut(whole);
    const similarity = similarityOf(pairs, pairsOf(line));
    if (similarity >= LEAST_SIMILARITY) found.push({ number: index + 1, line, similarity });
  }
  return found.toSorted((a, b) => b.similarity - a.similarity).slice(0, MOST_NAMED);
}

const cut = (line: string): string => line.trim().slice(0, MOST_CHARS);

/** Number of times that each pair of neighbouring characters occurs, by the codes of both. */
function pairsOf(line: string): ReadonlyMap<number, number> {
  const pairs = new Map<number, number>();
  const plain = line.toLowerCase();
  for (let at = 0; at + 1 < plain.length; at += 1) {
    const pair = plain.charCodeAt(at) * 0x10000 + plain.charCodeAt(at + 1);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  return pairs;
}

/** Dice coefficient of two lines: 1 for the same pairs, 0 when the lines share none. */
function similarityOf(a: ReadonlyMap<number, number>, b: ReadonlyMap<number, number>): number {
  let shared = 0;
  for (const [pair, count] of b) shared += Math.min(count, a.get(pair) ?? 0);
  const all = totalOf(a) + totalOf(b);
  return all === 0 ? 0 : (2 * shared) / all;
}

function totalOf(pairs: ReadonlyMap<number, number>): number {
  let total = 0;
  for (const count of pairs.values()) total += count;
  return total;
}
