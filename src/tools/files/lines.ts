import type { ReadableFile } from "../../types/run/backend.ts";

/** A sequence of whole lines of a file. */
export interface LineRange {
  readonly text: string;
  readonly lines: number;
  /** The file continues after it. */
  readonly more: boolean;
  /** Bytes of the only line up to the place where it is cut, because it is longer than the limit. */
  readonly tornAt?: number;
}

const CHUNK = 64 * 1024;
const NEWLINE = 0x0a;

/** The position after `count` newlines, and how many of them the file lacks. */
async function skipLines(
  file: ReadableFile,
  count: number,
  signal: AbortSignal,
): Promise<{ position: number; missing: number }> {
  const buffer = Buffer.alloc(CHUNK);
  let missing = count;
  let position = 0;
  while (missing > 0) {
    if (signal.aborted) {
      throw new Error("The file is too long to find that line in it; search it with grep.");
    }
    const { bytesRead } = await file.read(buffer, 0, CHUNK, position);
    if (bytesRead === 0) {
      break;
    }
    let at = -1;
    do {
      at = buffer.subarray(0, bytesRead).indexOf(NEWLINE, at + 1);
      missing -= at < 0 ? 0 : 1;
    } while (at >= 0 && missing > 0);
    position += at < 0 ? bytesRead : at + 1;
  }
  return { position, missing };
}

// The end of the last whole line within the limit and the buffer.
function endOfLines(bytes: Buffer, limit: number): { end: number; lines: number } {
  let end = 0;
  let lines = 0;
  while (lines < limit) {
    const at = bytes.indexOf(NEWLINE, end);
    if (at < 0) {
      break;
    }
    end = at + 1;
    lines += 1;
  }
  return { end, lines };
}

/** The part of a file that is wanted. */
export interface Wanted {
  /** Number of the first line, counted from 1. */
  readonly first: number;
  /** Most lines, and most bytes. */
  readonly limit: number;
  readonly bytes: number;
  /** Bytes of the first line that were read before. */
  readonly cursor: number;
}

/**
 * Reads lines from number `first`, at most `limit` of them. Needs the same memory for any file size. Undefined when the file has
 * fewer lines than `first`. Throws when `signal` aborts before they are found.
 */
export async function readLines(
  file: ReadableFile,
  { first, limit, bytes: most, cursor }: Wanted,
  signal: AbortSignal,
): Promise<LineRange | undefined> {
  const { position, missing } = await skipLines(file, first - 1, signal);
  if (missing > 0) {
    return undefined;
  }
  const bytes = await bytesFrom(file, position + cursor, most + 1);
  const { end, lines } = endOfLines(bytes.subarray(0, most), limit);
  const isWhole = bytes.length <= most;
  if (isWhole && lines < limit && end < bytes.length) {
    return { text: bytes.toString(), lines: lines + 1, more: false };
  }
  if (lines > 0 || isWhole) return { text: bytes.subarray(0, end).toString(), lines, more: end < bytes.length };
  const cut = endOfCharacter(bytes, most);
  return { text: bytes.subarray(0, cut).toString(), lines: 1, more: true, tornAt: cursor + cut };
}

/** The lines of a file; undefined when `signal` aborts before they are counted. */
export async function countLines(file: ReadableFile, signal: AbortSignal): Promise<number | undefined> {
  const buffer = Buffer.alloc(CHUNK);
  let lines = 0;
  let last = NEWLINE;
  for (let position = 0; !signal.aborted;) {
    const { bytesRead } = await file.read(buffer, 0, CHUNK, position);
    if (bytesRead === 0) return lines + Number(last !== NEWLINE);
    const bytes = buffer.subarray(0, bytesRead);
    for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) lines += 1;
    last = bytes.at(-1) ?? NEWLINE;
    position += bytesRead;
  }
  return undefined;
}

async function bytesFrom(file: ReadableFile, position: number, most: number): Promise<Buffer> {
  const buffer = Buffer.alloc(most);
  let filled = 0;
  while (filled < most) {
    const { bytesRead } = await file.read(buffer, filled, most - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/** The end of the last whole character before a place; the place itself in what is no UTF-8. */
function endOfCharacter(bytes: Buffer, place: number): number {
  for (let at = place; at > place - 4; at -= 1) if (((bytes[at] ?? 0) & 0xc0) !== 0x80) return at;
  return place;
}
