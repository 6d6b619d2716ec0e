import type { Io } from "./io.ts";

const QUIET = 4;
/** Characters by upper and lower cell. Light cells are drawn, because most terminals are dark. */
const HALVES: Readonly<Record<string, string>> = { "00": "█", "01": "▀", "10": "▄", "11": " " };
const BLACK_ON_WHITE = "\u001B[40;97m";
const PLAIN = "\u001B[0m";

/** A QR code as half blocks, two rows a line, with the margin that cameras need. Ends with a newline. */
export function showQr(io: Io, rows: readonly string[]): string {
  const width = (rows[0]?.length ?? 0) + 2 * QUIET;
  const empty = Array.from({ length: QUIET }, () => "0".repeat(width));
  const side = "0".repeat(QUIET);
  const all = [...empty, ...rows.map((row) => side + row + side), ...empty];
  const lines = Array.from({ length: Math.ceil(all.length / 2) }, (_, at) =>
    halves(all[at * 2] ?? "", all[at * 2 + 1] ?? "0".repeat(width)),
  );
  return lines.map((line) => (io.color ? `${BLACK_ON_WHITE}${line}${PLAIN}\n` : `${line}\n`)).join("");
}

const halves = (upper: string, lower: string): string =>
  Array.from({ length: upper.length }, (_, x) => HALVES[`${upper[x]}${lower[x]}`] ?? " ").join("");
