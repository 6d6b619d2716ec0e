import { open, stat } from "node:fs/promises";
import { z } from "zod";
import type { LogTailRequest } from "../../server/options.ts";
import type { LogTail } from "../../types/gateway-status.ts";
import { fieldsText } from "./human.ts";

/** Most bytes and lines of a part, unless the request names others. */
const MOST_TAIL_BYTES = 250_000;
const MOST_TAIL_LINES = 500;

/** The last lines of the log file, or the lines after a cursor; complete lines only. */
export async function tailLogs(path: string | undefined, request: LogTailRequest): Promise<LogTail> {
  if (path === undefined) return { file: "", cursor: 0, size: 0, lines: [], truncated: false, reset: false };
  const { size } = await stat(path);
  const reset = request.cursor !== undefined && request.cursor > size;
  const from = reset ? 0 : (request.cursor ?? 0);
  const start = Math.max(from, size - (request.maxBytes ?? MOST_TAIL_BYTES));
  const bytes = await readFrom(path, start, size - start);
  // A cut is in the middle of a line, and may be in the middle of a character.
  const isCut = start > from;
  const [begin, end] = [isCut ? bytes.indexOf("\n") + 1 : 0, bytes.lastIndexOf("\n") + 1];
  const whole = bytes
    .toString("utf8", begin, end)
    .split("\n")
    .filter((line) => line !== "");
  const lines = whole.slice(-(request.limit ?? MOST_TAIL_LINES)).map(withMessage);
  const truncated = lines.length < whole.length || isCut;
  const cursor = isCut && end === 0 ? from : start + end;
  return { file: path, cursor, size, lines, truncated, reset };
}

const record = z.looseObject({ level: z.string(), time: z.string(), msg: z.string() });

/** The line with `message`, which OpenClaw's clients show: what happened, and its fields. A line that is no record stays as it is. */
function withMessage(line: string): string {
  const found = recordIn(line);
  if (!found) return line;
  const { level, time, msg, ...fields } = found;
  return JSON.stringify({ level, time, msg, ...fields, message: [msg, fieldsText(fields)].filter(Boolean).join(" ") });
}

function recordIn(line: string): z.infer<typeof record> | undefined {
  try {
    const json: unknown = JSON.parse(line);
    return record.safeParse(json).data;
  } catch {
    // A line of another program.
    return undefined;
  }
}

async function readFrom(path: string, start: number, length: number): Promise<Buffer> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, start);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
