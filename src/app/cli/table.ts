import { styleText } from "node:util";
import type { Io } from "./io.ts";
import { withoutTerminalControls } from "./terminal-text.ts";

/** A table with column headings. Ends with a newline. */
export function table(io: Io, heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map(oneLine));
  const widths = heads.map((head, index) => Math.max(head.length, ...cells.map((row) => (row[index] ?? "").length)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join("  ")
      .trimEnd();
  return `${[dim(io, line(heads)), ...cells.map(line)].join("\n")}\n`;
}

/** One line for each name and value; names without a value are left out. Ends with a newline. */
export function pairs(io: Io, rows: readonly (readonly [string, string | undefined])[]): string {
  const shown = rows.filter((row): row is [string, string] => row[1] !== undefined);
  const width = Math.max(...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${dim(io, name.padEnd(width))}  ${oneLine(value)}\n`).join("");
}

export const dim = (io: Io, text: string): string =>
  io.color ? styleText("dim", text, { validateStream: false }) : text;

const oneLine = (text: string): string => withoutTerminalControls(text).replaceAll(/\s+/g, " ").trim();
