// Figures with their targets, and the table in which they are printed.
import process from "node:process";

/** The median, least and greatest of what `pick` finds in rows; undefined when it finds nothing. */
export function spread(rows, pick) {
  const values = rows
    .map((row) => pick(row))
    .filter(Number.isFinite)
    .sort((a, b) => a - b);
  if (values.length === 0) return undefined;
  return { mid: values[Math.floor((values.length - 1) / 2)], min: values[0], max: values.at(-1) };
}

/** One value as a spread. */
export const exactly = (value) => spread([value], (one) => one);

export const atMost = (value) => ({ value, isMet: (here) => here <= value, sign: "≤" });
export const atLeast = (value) => ({ value, isMet: (here) => here >= value, sign: "≥" });
/** Targets that are a multiple of the floor's figure. */
export const atMostFloors = (value) => ({ ...atMost(value), ofFloor: true });
export const atLeastFloors = (value) => ({ ...atLeast(value), ofFloor: true });

/**
 * A figure of this gateway; `floor` is the same of the floor.
 * @param {string} name
 * @param {{ unit?: string, here?: object, floor?: object, target?: object }} what
 */
export const figure = (name, what) => ({ name, unit: "", ...what });

const short = (value) =>
  `${value === 0 || Math.abs(value) >= 10 ? Math.round(value * 10) / 10 : Number(value.toPrecision(2))}`;

function shown(some, unit) {
  if (!some) return "no figure";
  const range = some.min === some.max ? "" : ` (${short(some.min)}..${short(some.max)})`;
  return `${short(some.mid)}${range} ${unit}`.trim();
}

function cellsOf({ name, unit, here, floor, target }) {
  const ratio = here && floor?.mid ? here.mid / floor.mid : undefined;
  const judged = target?.ofFloor ? ratio : here?.mid;
  const wanted = target ? `${target.sign} ${target.value} ${target.ofFloor ? "× floor" : unit}`.trim() : "";
  const result = target && judged !== undefined ? (target.isMet(judged) ? "met" : "missed") : "";
  return [name, shown(here, unit), floor ? shown(floor, unit) : "", ratio?.toFixed(2) ?? "", wanted, result];
}

/** Prints rows of cells in columns, or with $MARKDOWN as a table in Markdown. The cells of `right` columns end at the right. */
export function printColumns(rows, right = []) {
  if (process.env.MARKDOWN) return printMarkdown(rows);
  const widths = rows[0].map((_, column) => Math.max(...rows.map((cells) => cells[column].length)));
  const aligned = (cell, column) =>
    right.includes(column) ? cell.padStart(widths[column]) : cell.padEnd(widths[column]);
  for (const cells of rows) console.log(cells.map(aligned).join("  ").trimEnd());
}

function printMarkdown([head, ...rows]) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  console.log([line(head), `|${head.map(() => "---|").join("")}`, ...rows.map(line)].join("\n"));
}

export function printFigures(figures) {
  const head = ["figure", "here", "floor", "× floor", "target", ""];
  printColumns([head, ...figures.map(cellsOf)]);
}
