import { basename, dirname, join } from "node:path";
import { z } from "zod";
import type { FileBackend, ReadableFile } from "../../types/run/backend.ts";
import type { Tool, ToolContext, ToolResult } from "../../types/run/tool.ts";
import { isMissing } from "../../utils/missing.ts";
import { readBytes } from "../../utils/read-regular.ts";
import { CONTENT_BYTES, MAX_LINES } from "../cap.ts";
import { defineTool, FILE_TOOL_MS, textResult } from "../define.ts";
import { fold } from "./folded.ts";
import { respelled } from "./spellings.ts";
import { withFile } from "./stored.ts";

const MAX_IMAGE_BYTES = 5 * 1024 * 1024;
const SNIFFED_BYTES = 8192;
/** Milliseconds within which a line must be found: a sparse file may be larger than any disk. */
const READ_MS = 30_000;

/** Least and most bytes of a page, and the characters that are left for notes. */
const LEAST_PAGE = 1000;
const MOST_PAGE = 131_072;
const NOTE_CHARS = 512;
/** Most bytes of a file in another encoding, which is read as a whole. */
const MOST_DECODED = 10 * 1024 * 1024;
/** Most bytes of a file whose lines are counted. */
const MOST_COUNTED = 10 * 1024 * 1024;

const input = z.lazy(() =>
  z.object({
    path: z.string().min(1).describe("File to read; relative paths start at the workspace"),
    offset: z.int().min(1).optional().describe("First line, counted from 1"),
    limit: z.int().min(1).optional().describe("Most lines to read"),
    cursor: z.int().min(0).optional().describe("Where to continue in a line that is too long"),
    optional: z.boolean().optional().describe("A missing file is no error"),
  }),
);

// First bytes of the image formats that models accept; the end of a file name proves nothing.
const IMAGES: readonly { mimeType: string; matches: (head: Buffer) => boolean }[] = [
  { mimeType: "image/png", matches: (head) => head.subarray(0, 8).toString("hex") === "89504e470d0a1a0a" },
  { mimeType: "image/jpeg", matches: (head) => head.subarray(0, 3).toString("hex") === "ffd8ff" },
  { mimeType: "image/gif", matches: (head) => /^GIF8[79]a/.test(head.subarray(0, 6).toString("latin1")) },
  { mimeType: "image/webp", matches: (head) => /^RIFF[^]{4}WEBP/.test(head.subarray(0, 12).toString("latin1")) },
];

async function readImage(file: ReadableFile, mimeType: string, path: string): Promise<ToolResult> {
  const { size } = await file.stat();
  if (size > MAX_IMAGE_BYTES) {
    throw new Error(
      `${path} is an image of ${size} bytes; at most ${MAX_IMAGE_BYTES} can be shown. Make it smaller first.`,
    );
  }
  const data = (await readBytes(file, size)).toString("base64");
  return {
    content: [
      { type: "text", text: `Image ${path} (${mimeType})` },
      { type: "image", data, mimeType },
    ],
    details: { kind: "image" },
  };
}

/** Bytes of a page; a context window that takes long results gets long pages. The rest of a result is for notes. */
const pageBytes = (mostChars: number | undefined): number =>
  mostChars === undefined ? CONTENT_BYTES : Math.min(MOST_PAGE, Math.max(LEAST_PAGE, mostChars - NOTE_CHARS));

async function readText(
  file: ReadableFile,
  { path, offset = 1, limit, cursor = 0 }: z.output<typeof input>,
  { mostChars, signal }: Pick<ToolContext, "mostChars" | "signal">,
): Promise<ToolResult> {
  const bytes = pageBytes(mostChars);
  const lines = Math.min(limit ?? MAX_LINES, MAX_LINES);
  const range = await readLines(file, { first: offset, limit: lines, bytes, cursor }, signal);
  if (range === undefined) {
    throw new Error(`${path} has fewer than ${offset} lines.`);
  }
  if (range.tornAt !== undefined) {
    const where = cursor === 0 ? "this is its beginning" : `this is a part from byte ${cursor} on`;
    const note = `[Line ${offset} is longer than ${sizeText(bytes)}; ${where}, continue with offset=${offset} and cursor=${range.tornAt}.]`;
    const truncation = await truncationOf(file, { by: "bytes", lines: 1 }, signal);
    return textResult(`${range.text}\n\n${note}`, { kind: "truncated", cursor: range.tornAt, truncation });
  }
  const last = offset + range.lines - 1;
  const rest = `[Lines ${offset} to ${last}; there is more, continue with offset=${last + 1}.]`;
  if (range.more) {
    const by = range.lines === lines ? "lines" : "bytes";
    const truncation = await truncationOf(file, { by, lines: range.lines }, signal);
    return textResult(`${range.text}\n${rest}`, { kind: "truncated", nextOffset: last + 1, truncation });
  }
  return textResult(range.text || "[The file is empty.]", { kind: "text" });
}

/** The size of the omitted part, for people and plugins. The lines of a large file are not counted. */
async function truncationOf(
  file: ReadableFile,
  { by, lines }: { readonly by: "lines" | "bytes"; readonly lines: number },
  signal: AbortSignal,
) {
  const { size: totalBytes } = await file.stat();
  const totalLines = totalBytes > MOST_COUNTED ? undefined : await countLines(file, signal);
  return { truncatedBy: by, totalBytes, outputLines: lines, ...(totalLines !== undefined && { totalLines }) };
}

/** Size of a page as a text. A page of the default size counts with its notes, as results do. */
const sizeText = (bytes: number): string => `${Math.ceil(bytes / 1024 / 10) * 10} KB`;

async function readAny(
  file: ReadableFile,
  wanted: z.output<typeof input>,
  context: Pick<ToolContext, "mostChars" | "signal">,
): Promise<ToolResult> {
  const head = await readBytes(file, SNIFFED_BYTES);
  const image = IMAGES.find((format) => format.matches(head));
  if (image !== undefined) {
    return readImage(file, image.mimeType, wanted.path);
  }
  const encoding = UTF_16[head.subarray(0, 2).toString("hex")];
  const { size } = encoding === undefined ? { size: 0 } : await file.stat();
  if (encoding !== undefined && size <= MOST_DECODED) {
    return readText(inMemory(decoded(await readBytes(file, size), encoding)), wanted, context);
  }
  if (head.includes(0)) {
    throw new Error(`${wanted.path} is a binary file; read shows text and images only.`);
  }
  return readText(file, wanted, context);
}

/** Encodings of many texts from Windows, by their first two bytes in hex. */
const UTF_16: Readonly<Record<string, string>> = { fffe: "utf-16le", feff: "utf-16be" };

const decoded = (bytes: Uint8Array, encoding: string): Buffer => Buffer.from(new TextDecoder(encoding).decode(bytes));

const inMemory = (bytes: Buffer): ReadableFile => ({
  read: async (buffer, offset, length, position) => ({
    bytesRead: bytes.subarray(position, position + length).copy(buffer, offset),
  }),
  stat: async () => ({ size: bytes.length }),
  close: async () => undefined,
});

/** The tool `read`: reads text by lines, and images whole. */
export function readTool(files: FileBackend): Tool {
  return defineTool({
    name: "read",
    label: "Read",
    description:
      "Read a file. Text comes back in pages of 2,000 lines at most (continue with offset); PNG, JPEG, GIF and WebP come " +
      "back as images.",
    input,
    prepare: respelled,
    timeoutMs: FILE_TOOL_MS,
    hasSideEffects: false,
    async run(wanted, { workspace, mostChars, signal: given }) {
      const signal = AbortSignal.any([given, AbortSignal.timeout(READ_MS)]);
      const readAt = (path: string) =>
        withFile({ path, workspace }, files, (file) => readAny(file, { ...wanted, path }, { mostChars, signal }));
      try {
        return await readAt(wanted.path);
      } catch (error) {
        if (!isMissing(error)) throw error;
        const other = await writtenOtherwise(wanted.path, files, { workspace, signal });
        if (other !== undefined) return await readAt(other);
        if (wanted.optional !== true) throw error;
        return textResult(`[There is no file ${wanted.path}.]`, { kind: "not_found" });
      }
    },
  });
}

/** Most entries of a folder in which a name is looked for. */
const MOST_NAMES = 10_000;

/**
 * The only file beside the missing one whose name has other spaces, quotes or dashes, or its accents apart: names that
 * no model writes. Undefined when there is none, or more than one.
 */
async function writtenOtherwise(
  path: string,
  files: FileBackend,
  { workspace, signal }: Pick<ToolContext, "workspace" | "signal">,
): Promise<string | undefined> {
  const folder = dirname(path);
  const wanted = plainName(basename(path));
  const entries = await files.list(folder, workspace, { most: MOST_NAMES, signal }).catch(() => []);
  const [found, ...more] = entries.filter(({ kind, name }) => kind === "file" && plainName(name) === wanted);
  return found && more.length === 0 ? join(folder, found.name) : undefined;
}

const plainName = (name: string): string => fold(name.normalize("NFC")).text;

/** A sequence of whole lines of a file. */
interface LineRange {
  readonly text: string;
  readonly lines: number;
  /** True when the file continues after the last line. */
  readonly more: boolean;
  /** Bytes of the only line up to its cut; set when the line is longer than the limit. */
  readonly tornAt?: number;
}

const CHUNK = 64 * 1024;
const NEWLINE = 0x0a;

/** The position after `count` newlines, and the number of them that the file lacks. */
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

/** The requested part of a file. */
interface Wanted {
  /** Number of the first line, counted from 1. */
  readonly first: number;
  /** Most lines, and most bytes. */
  readonly limit: number;
  readonly bytes: number;
  /** Bytes of the first line that were read before. */
  readonly cursor: number;
}

/**
 * Reads lines from number `first`, at most `limit` of them. Needs the same memory for any file size. Undefined when the
 * file has fewer lines than `first`. Throws when `signal` aborts before line `first` is found.
 */
async function readLines(
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

/** Number of lines of a file; undefined when `signal` aborts before all are counted. */
async function countLines(file: ReadableFile, signal: AbortSignal): Promise<number | undefined> {
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

/** The end of the last whole character before a place; the place itself in bytes that are no UTF-8. */
function endOfCharacter(bytes: Buffer, place: number): number {
  for (let at = place; at > place - 4; at -= 1) if (((bytes[at] ?? 0) & 0xc0) !== 0x80) return at;
  return place;
}
