import { open, readdir, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { fileSize } from "../../../../store/files.ts";
import { unlessMissing } from "../../../../utils/missing.ts";

const DAILY = /^openclaw-\d{4}-\d{2}-\d{2}(?:\.1)?\.log$/;
const BLOCK = 65_536;
const NEWLINE = 10;

/** The location of the log: a folder with a file per day, or one file. */
export type LogPlace = { readonly dir: string } | { readonly file: string };

/** Its files, the oldest first. */
export async function logFiles(place: LogPlace): Promise<readonly string[]> {
  if ("file" in place) return (await fileSize(place.file)) === undefined ? [] : [place.file];
  const names = (await unlessMissing(readdir(place.dir))) ?? [];
  return names
    .filter((name) => DAILY.test(name))
    .toSorted()
    .map((name) => join(place.dir, name));
}

/** The last lines of a file, oldest first, and where it ends; reads from the end. */
export async function lastLines(path: string, limit: number): Promise<{ lines: readonly string[]; end: number }> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const end = size - (await tornBytes(file, size));
    const text = await readBack(file, end, limit);
    const lines = text.split("\n").filter((line) => line !== "");
    return { lines: limit === 0 ? [] : lines.slice(-limit), end };
  } finally {
    await file.close();
  }
}

/** Bytes after the last newline: a line that is being written. */
async function tornBytes(file: FileHandle, size: number): Promise<number> {
  for (let from = size; from > 0;) {
    const start = Math.max(0, from - BLOCK);
    const at = (await readRange(file, start, from)).lastIndexOf(NEWLINE);
    if (at >= 0) return size - (start + at + 1);
    from = start;
  }
  return size;
}

async function readBack(file: FileHandle, end: number, limit: number): Promise<string> {
  const blocks: Buffer[] = [];
  let newlines = 0;
  for (let from = end; from > 0 && newlines <= limit;) {
    const start = Math.max(0, from - BLOCK);
    const block = await readRange(file, start, from);
    newlines += block.filter((byte) => byte === NEWLINE).length;
    blocks.unshift(block);
    from = start;
  }
  return Buffer.concat(blocks).toString("utf8");
}

/** Whole lines that were appended since `from`, and where they end. A file that became shorter is read from its start. */
export async function linesSince(path: string, from: number): Promise<{ lines: readonly string[]; end: number }> {
  const size = await fileSize(path);
  if (size === undefined || size === from) return { lines: [], end: size ?? 0 };
  const start = size < from ? 0 : from;
  const file = await open(path, "r");
  try {
    const bytes = await readRange(file, start, size);
    const length = bytes.lastIndexOf(NEWLINE) + 1;
    const lines = bytes.toString("utf8", 0, length).split("\n");
    return { lines: lines.filter((line) => line !== ""), end: start + length };
  } finally {
    await file.close();
  }
}

async function readRange(file: FileHandle, start: number, end: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(end - start), 0, end - start, start);
  return buffer.subarray(0, bytesRead);
}
