import { existsSync, readFileSync } from "node:fs";

/** The JSON lines of a file that another process may be writing: a line without its newline is left out. Empty without a file. */
export function jsonLinesIn<T>(path: string): readonly T[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as T);
}
