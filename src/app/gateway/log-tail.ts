import { open } from "node:fs/promises";
import type { LogTail, LogTailRequest } from "../../server/options.ts";

const MOST_BYTES = 250_000;
const MOST_LINES = 500;

/** The end of the log file, or what came after a cursor; whole lines only. */
export async function tailLogs(path: string | undefined, request: LogTailRequest): Promise<LogTail> {
  if (path === undefined) return { file: "", cursor: 0, size: 0, lines: [] };
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const wasReplaced = request.cursor !== undefined && request.cursor > size;
    const asked = wasReplaced ? undefined : request.cursor;
    const start = Math.max(asked ?? 0, size - (request.maxBytes ?? MOST_BYTES));
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), 0, size - start, start);
    const text = buffer.toString("utf8", 0, bytesRead);
    const end = text.lastIndexOf("\n") + 1;
    const lines = text
      .slice(0, end)
      .split("\n")
      .filter((line) => line !== "");
    const whole = start === 0 || start === asked ? lines : lines.slice(1);
    const kept = whole.slice(-(request.limit ?? MOST_LINES));
    const truncated = kept.length < whole.length || start > (asked ?? 0);
    return {
      file: path,
      cursor: start + Buffer.byteLength(text.slice(0, end)),
      size,
      lines: kept,
      ...(truncated && { truncated }),
      ...(wasReplaced && { reset: true }),
    };
  } finally {
    await file.close();
  }
}
