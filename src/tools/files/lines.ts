import type { ReadableFile } from "../../types/run/backend.ts";
import { CONTENT_BYTES } from "../cap.ts";

/** A sequence of whole lines of a file. */
export interface LineRange {
  readonly text: string;
  readonly lines: number;
  /** The file continues after it. */
  readonly more: boolean;
  /** The only line was longer than the limit and is cut. */
  readonly torn: boolean;
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

/**
 * Reads lines from number `first` (1-based), at most `limit` of them and 50 KB. Needs the same memory for any
 * file size. Undefined when the file has fewer lines than `first`. Throws when `signal` aborts before they are found.
 */
export async function readLines(
  file: ReadableFile,
  { first, limit }: { readonly first: number; readonly limit: number },
  signal: AbortSignal,
): Promise<LineRange | undefined> {
  const { position, missing } = await skipLines(file, first - 1, signal);
  if (missing > 0) {
    return undefined;
  }
  const buffer = Buffer.alloc(CONTENT_BYTES + 1);
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, position + filled);
    if (bytesRead === 0) {
      break;
    }
    filled += bytesRead;
  }
  const bytes = buffer.subarray(0, filled);
  const { end, lines } = endOfLines(bytes.subarray(0, CONTENT_BYTES), limit);
  const isWhole = filled <= CONTENT_BYTES;
  if (isWhole && lines < limit && end < filled) {
    return { text: bytes.toString(), lines: lines + 1, more: false, torn: false };
  }
  if (lines === 0 && !isWhole) {
    return {
      text: bytes
        .subarray(0, CONTENT_BYTES)
        .toString()
        .replace(/\uFFFD+$/, ""),
      lines: 1,
      more: true,
      torn: true,
    };
  }
  return { text: bytes.subarray(0, end).toString(), lines, more: end < filled, torn: false };
}
