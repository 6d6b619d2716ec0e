import { z } from "zod";
import type { FileBackend, ReadableFile } from "../../types/run/backend.ts";
import type { Tool, ToolResult } from "../../types/run/tool.ts";
import { readBytes } from "../../utils/read-regular.ts";
import { MAX_LINES } from "../cap.ts";
import { defineTool, textResult } from "../define.ts";
import { readLines } from "./lines.ts";

const MAX_IMAGE_BYTES = 5 * 1024 * 1024;
const SNIFFED_BYTES = 8192;
/** Milliseconds within which a line must be found: a sparse file may be larger than any disk. */
const READ_MS = 30_000;

const input = z.object({
  path: z.string().min(1).describe("File to read; relative paths start at the workspace"),
  offset: z.int().min(1).optional().describe("First line, counted from 1"),
  limit: z.int().min(1).optional().describe("Most lines to read"),
});

// The first bytes of the image formats that models accept; a file name's ending proves nothing.
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
  };
}

async function readText(
  file: ReadableFile,
  { path, offset = 1, limit }: z.output<typeof input>,
  signal: AbortSignal,
): Promise<ToolResult> {
  const range = await readLines(file, { first: offset, limit: Math.min(limit ?? MAX_LINES, MAX_LINES) }, signal);
  if (range === undefined) {
    throw new Error(`${path} has fewer than ${offset} lines.`);
  }
  if (range.torn) {
    return textResult(`${range.text}\n\n[Line ${offset} is longer than 50 KB; this is its beginning.]`);
  }
  const last = offset + range.lines - 1;
  const rest = `[Lines ${offset} to ${last}; there is more, continue with offset=${last + 1}.]`;
  return textResult(range.more ? `${range.text}\n${rest}` : range.text || "[The file is empty.]");
}

async function readAny(file: ReadableFile, wanted: z.output<typeof input>, signal: AbortSignal): Promise<ToolResult> {
  const head = await readBytes(file, SNIFFED_BYTES);
  const image = IMAGES.find((format) => format.matches(head));
  if (image !== undefined) {
    return readImage(file, image.mimeType, wanted.path);
  }
  if (head.includes(0)) {
    throw new Error(`${wanted.path} is a binary file; read shows text and images only.`);
  }
  return readText(file, wanted, signal);
}

/** Reads text by lines, and images whole. */
export function readTool(files: FileBackend): Tool {
  return defineTool({
    name: "read",
    label: "Read",
    description:
      "Read a file. Text comes back 2,000 lines or 50 KB at a time (continue with offset); PNG, JPEG, GIF and WebP come " +
      "back as images.",
    input,
    hasSideEffects: false,
    async run(wanted, context) {
      const file = await files.open(wanted.path, context.workspace);
      try {
        return await readAny(file, wanted, AbortSignal.any([context.signal, AbortSignal.timeout(READ_MS)]));
      } finally {
        await file.close();
      }
    },
  });
}
