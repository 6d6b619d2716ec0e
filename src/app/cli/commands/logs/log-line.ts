import { styleText } from "node:util";
import { z } from "zod";
import { cleanText } from "../../terminal-text.ts";

const LOOK = { debug: "gray", info: "green", warn: "yellow", error: "red", fatal: "red" } as const;

const recordShape = z.looseObject({
  level: z.enum(["trace", "debug", "info", "warn", "error", "fatal"]).catch("info"),
  time: z.union([z.string(), z.number()]).optional(),
  msg: z.string().default(""),
});

/** One line of the log file for a person; a line that is no record is returned unchanged. */
export function logLine(line: string, color: boolean): string {
  const record = parseRecord(line);
  if (!record) return cleanText(line);
  const { level, time, msg, ...fields } = record;
  const paint = (style: (typeof LOOK)[keyof typeof LOOK], text: string) =>
    color && text !== "" ? styleText(style, text, { validateStream: false }) : text;
  const words = Object.entries(fields).flatMap(([name, value]) =>
    value == null || name === "stack" ? [] : `${name}=${show(value)}`,
  );
  const style = level === "trace" ? "gray" : LOOK[level];
  const parts = [paint("gray", showTime(time)), paint(style, level.padEnd(5)), cleanText(msg)];
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
  return cleanText(typeof value === "string" && /[\s"]/.test(text) ? JSON.stringify(text) : text);
}
