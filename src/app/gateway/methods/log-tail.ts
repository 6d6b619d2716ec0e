import { open, stat } from "node:fs/promises";
import type { LogTail, LogTailRequest } from "../../../server/options.ts";

const MOST_BYTES = 250_000;
const MOST_LINES = 500;

/** The last lines of the log file, or the lines after a cursor; complete lines only. */
export async function tailLogs(path: string | undefined, request: LogTailRequest): Promise<LogTail> {
  if (path === undefined) return { file: "", cursor: 0, size: 0, lines: [] };
  const { size } = await stat(path);
  const reset = request.cursor !== undefined && request.cursor > size;
  const from = reset ? 0 : (request.cursor ?? 0);
  const start = Math.max(from, size - (request.maxBytes ?? MOST_BYTES));
  const text = await readFrom(path, start, size - start);
  const end = text.lastIndexOf("\n") + 1;
  const whole = wholeLines(text.slice(0, end), start === from);
  const lines = whole.slice(-(request.limit ?? MOST_LINES));
  const truncated = lines.length < whole.length || start > from;
  const cursor = start + Buffer.byteLength(text.slice(0, end));
  return { file: path, cursor, size, lines, ...(truncated && { truncated }), ...(reset && { reset }) };
}

/** Skips the first line if the read began in the middle of it. */
function wholeLines(text: string, fromLineStart: boolean): readonly string[] {
  const lines = text.split("\n").filter((line) => line !== "");
  return fromLineStart ? lines : lines.slice(1);
}

async function readFrom(path: string, start: number, length: number): Promise<string> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, start);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}
