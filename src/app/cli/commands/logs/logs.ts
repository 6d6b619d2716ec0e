import { expandHome } from "../../../../utils/env.ts";
import { open, readdir, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { setInterval as every } from "node:timers/promises";
import { styleText } from "node:util";
import { z } from "zod";
import type { Io } from "../../io.ts";
import { readState, type State } from "../../state.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { fileSize } from "../../../../store/files.ts";
import { unlessMissing } from "../../../../utils/missing.ts";

export interface LogFlags {
  readonly follow?: boolean;
  readonly json?: boolean;
  readonly plain?: boolean;
  readonly limit: number;
  readonly interval: number;
}

/** Prints the last lines of the log. With `follow` it then prints new lines, also of the next day's file, until it is stopped. */
export async function logs(io: Io, flags: LogFlags): Promise<number> {
  const place = placeOf(io, await readState(io));
  const color = io.color && flags.plain !== true;
  const write = (lines: readonly string[]) => {
    const shown = flags.json === true ? lines : lines.map((line) => logLine(line, color));
    if (shown.length > 0) io.out(`${shown.join("\n")}\n`, flags.json === true ? "data" : undefined);
  };
  const files = await logFiles(place);
  if (files.length === 0) io.err(`No log yet in ${"dir" in place ? place.dir : place.file}.\n`);
  const { lines, end } = await gather(files, flags.limit);
  write(lines);
  if (flags.follow === true) await follow(place, { file: files.at(-1), end }, flags.interval, write);
  return 0;
}

const placeOf = (io: Io, { config, paths }: State): LogPlace =>
  config.logging.file === undefined ? { dir: paths.logs } : { file: expandHome(config.logging.file, io.env) };

/** The last lines of all files together. `end`: the offset at which the newest file ended. */
async function gather(files: readonly string[], limit: number): Promise<{ lines: readonly string[]; end: number }> {
  let lines: readonly string[] = [];
  let end = 0;
  for (const file of files.toReversed()) {
    const found = await lastLines(file, limit - lines.length);
    if (file === files.at(-1)) end = found.end;
    lines = [...found.lines, ...lines];
    if (lines.length >= limit) break;
  }
  return { lines, end };
}

async function follow(
  place: LogPlace,
  from: { file: string | undefined; end: number },
  intervalMs: number,
  write: (lines: readonly string[]) => void,
): Promise<void> {
  let { file: current, end } = from;
  for await (const _ of every(intervalMs)) {
    const files = await logFiles(place);
    // The old day's file is read to its end before the new one begins.
    const unread = current === undefined ? files : files.filter((file) => file >= (current ?? ""));
    for (const file of unread) {
      const found = await linesSince(file, file === current ? end : 0);
      write(found.lines);
      current = file;
      end = found.end;
    }
  }
}

const LOOK = { debug: "gray", info: "green", warn: "yellow", error: "red", fatal: "red" } as const;

const recordShape = z.looseObject({
  level: z.enum(["trace", "debug", "info", "warn", "error", "fatal"]).catch("info"),
  time: z.union([z.string(), z.number()]).optional(),
  msg: z.string().default(""),
});

/** One line of the log file for a person; a line that is no record is returned unchanged. */
function logLine(line: string, color: boolean): string {
  const record = parseRecord(line);
  if (!record) return withoutTerminalControls(line);
  const { level, time, msg, ...fields } = record;
  const paint = (style: (typeof LOOK)[keyof typeof LOOK], text: string) =>
    color && text !== "" ? styleText(style, text, { validateStream: false }) : text;
  const words = Object.entries(fields).flatMap(([name, value]) =>
    value == null || name === "stack" ? [] : `${name}=${show(value)}`,
  );
  const style = level === "trace" ? "gray" : LOOK[level];
  const parts = [paint("gray", showTime(time)), paint(style, level.padEnd(5)), withoutTerminalControls(msg)];
  return [...parts, paint("gray", words.join(" "))].filter(Boolean).join(" ");
}

function parseRecord(line: string): z.infer<typeof recordShape> | undefined {
  try {
    const json: unknown = JSON.parse(line);
    return recordShape.safeParse(json).data;
  } catch {
    // A line of another program, or an incomplete one.
    return undefined;
  }
}

/** Local time, `2026-11-21 14:03:22`. */
const showTime = (time: string | number | undefined): string => {
  const date = new Date(time ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? "" : date.toLocaleString("sv-SE");
};

function show(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return withoutTerminalControls(typeof value === "string" && /[\s"]/.test(text) ? JSON.stringify(text) : text);
}

const DAILY = /^openclaw-\d{4}-\d{2}-\d{2}(?:\.1)?\.log$/;
const BLOCK = 65_536;
const NEWLINE = 10;

/** The location of the log: a folder with a file per day, or one file. */
type LogPlace = { readonly dir: string } | { readonly file: string };

/** Its files, the oldest first. */
async function logFiles(place: LogPlace): Promise<readonly string[]> {
  if ("file" in place) return (await fileSize(place.file)) === undefined ? [] : [place.file];
  const names = (await unlessMissing(readdir(place.dir))) ?? [];
  return names
    .filter((name) => DAILY.test(name))
    .toSorted()
    .map((name) => join(place.dir, name));
}

/** The last lines of a file, oldest first, and where it ends; reads from the end. */
async function lastLines(path: string, limit: number): Promise<{ lines: readonly string[]; end: number }> {
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
async function linesSince(path: string, from: number): Promise<{ lines: readonly string[]; end: number }> {
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
