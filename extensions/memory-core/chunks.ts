/** A part of a note, with the headings above it. Lines count from 1. */
export interface Chunk {
  readonly heading: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly text: string;
}

/** UTF-16 units of a chunk: about 400 tokens. */
const CHUNK_CHARS = 1600;
/** UTF-16 units at the end of a chunk that the next one repeats: about 80 tokens. */
const OVERLAP_CHARS = 320;
const HEADING = /^(#{1,6})\s+(.*)$/;

export interface Line {
  readonly number: number;
  readonly text: string;
}

/** Names what `chunksOf` does; an index made by another one is rebuilt. */
export const CHUNKING = `markdown ${CHUNK_CHARS}/${OVERLAP_CHARS}`;

/** Cuts a note at its headings, and longer parts at lines. */
export function chunksOf(note: string): readonly Chunk[] {
  const chunks: Chunk[] = [];
  const headings: string[] = [];
  let lines: Line[] = [];
  const end = () => {
    chunks.push(...chunksOfLines(lines, headings.filter(Boolean).join(" > ")));
    lines = [];
  };
  for (const [index, text] of note.split(/\r?\n/).entries()) {
    const heading = HEADING.exec(text);
    if (heading) {
      end();
      headings.length = (heading[1]?.length ?? 1) - 1;
      headings.push(heading[2] ?? "");
    }
    lines.push({ number: index + 1, text });
  }
  end();
  return chunks;
}

/** Cuts lines into parts that overlap. */
export function chunksOfLines(lines: readonly Line[], heading: string): readonly Chunk[] {
  const chunks: Chunk[] = [];
  let part: Line[] = [];
  let isNew = false;
  const end = () => {
    const chunk = chunkOf(part, heading);
    if (isNew && chunk) chunks.push(chunk);
    part = tailOf(part);
    isNew = false;
  };
  for (const line of lines.flatMap(shortLines)) {
    if (sizeOf(part) + line.text.length > CHUNK_CHARS) end();
    part.push(line);
    isNew ||= line.text.trim() !== "";
  }
  end();
  return chunks;
}

/** A line that is longer than a chunk, in pieces. */
function shortLines({ number, text }: Line): readonly Line[] {
  const pieces: Line[] = [];
  const most = CHUNK_CHARS - OVERLAP_CHARS;
  for (let at = 0; at < text.length || at === 0; at += most) pieces.push({ number, text: text.slice(at, at + most) });
  return pieces;
}

function tailOf(part: readonly Line[]): Line[] {
  const tail: Line[] = [];
  for (const line of part.toReversed()) {
    if (sizeOf(tail) + line.text.length > OVERLAP_CHARS) break;
    tail.unshift(line);
  }
  return tail;
}

const sizeOf = (lines: readonly Line[]): number => lines.reduce((sum, { text }) => sum + text.length + 1, 0);

function chunkOf(lines: readonly Line[], heading: string): Chunk | undefined {
  const kept = lines.filter(({ text }) => text.trim() !== "");
  const [first] = kept;
  const last = kept.at(-1);
  if (!first || !last) return undefined;
  const text = lines
    .map((line) => line.text)
    .join("\n")
    .trim();
  return { heading, startLine: first.number, endLine: last.number, text };
}
