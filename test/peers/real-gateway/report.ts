import type { Differences } from "./differences.ts";

/** Why a method is not served on purpose; undefined when it should be. */
export type OutOfScope = (method: string) => string | undefined;

/** The differences of a method: those of all its rows first, then those of some of them with the rows' names. */
export function report(all: readonly Differences[], outOfScope: OutOfScope): string {
  const methods = [...Map.groupBy(all, ({ method }) => method)].map(([method, rows]) => ({ method, rows }));
  const unknown = methods.filter(({ rows }) => isUnknown(rows));
  const wanted = unknown.filter(({ method }) => outOfScope(method) === undefined);
  const left = unknown.filter(({ method }) => outOfScope(method) !== undefined);
  const different = methods.filter(({ rows }) => !isUnknown(rows) && rows.some(({ lines }) => lines.length > 0));
  const same = methods.filter(({ rows }) => rows.every(({ lines }) => lines.length === 0));
  return [
    head("unknown methods", wanted.length),
    ...wanted.flatMap(({ method, rows }) => [
      method,
      ...rows.map(({ row, lines }) => `    ${row}: ${lines.join("; ")}`),
    ]),
    head("methods that answer in another way", different.length),
    ...different.flatMap(({ method, rows }) => [method, ...linesOf(rows)]),
    head("methods without a difference", same.length),
    ...same.map(({ method }) => method),
    head("unknown methods that are out of scope", left.length),
    ...left.map(({ method }) => `${method}: ${outOfScope(method)}`),
    "",
  ].join("\n");
}

/** Whether a method is unknown that should be there. */
export const lacksMethods = (all: readonly Differences[], outOfScope: OutOfScope): boolean =>
  all.some((row) => isUnknown([row]) && outOfScope(row.method) === undefined);

const head = (what: string, count: number) => `\n## ${what}: ${count}\n`;
const isUnknown = (rows: readonly Differences[]) => rows.some(({ isUnknownMethod }) => isUnknownMethod);

/** The lines of a method, those of the same rows together. */
function linesOf(rows: readonly Differences[]): string[] {
  const rowsByLine = new Map<string, string[]>();
  for (const { row, lines } of rows) {
    for (const line of lines) rowsByLine.set(line, [...(rowsByLine.get(line) ?? []), row]);
  }
  const groups = Map.groupBy(rowsByLine.keys(), (line) => (rowsByLine.get(line) ?? []).join(" + "));
  const every = rows.map(({ row }) => row).join(" + ");
  return [...groups]
    .toSorted(([a], [b]) => Number(b === every) - Number(a === every))
    .flatMap(([where, lines]) => [...(where === every ? [] : [`  ${where}`]), ...lines.map((line) => `    ${line}`)]);
}
