import { styleText } from "node:util";
import { Secret } from "../../types/secret.ts";
import { maskStrings } from "../../utils/secrets/mask-strings.ts";
import { worst, type CheckReport, type Status } from "./run-checks.ts";

const MARKS: Readonly<Record<Status, { text: string; style: "green" | "yellow" | "red" | "dim" }>> = {
  ok: { text: "ok  ", style: "green" },
  warn: { text: "warn", style: "yellow" },
  fail: { text: "FAIL", style: "red" },
  skip: { text: "skip", style: "dim" },
};

/** The reports as text: a line for each finding, its fix below, and a summary. Ends with a newline. */
export function formatReport(reports: readonly CheckReport[], options: { color: boolean }): string {
  const width = Math.max(0, ...reports.map((report) => report.title.length));
  const paint = (status: Status, text: string) =>
    options.color ? styleText(MARKS[status].style, text, { validateStream: false }) : text;
  const lines = reports.flatMap((report) =>
    report.results.flatMap((result, index) => {
      const title = (index === 0 ? report.title : "").padEnd(width);
      const line = `${paint(result.status, MARKS[result.status].text)}  ${title}  ${result.message}`;
      return result.fix === undefined ? [line] : [line, `${" ".repeat(width + 8)}→ ${result.fix}`];
    }),
  );
  return Secret.mask(`${[...lines, "", sumUp(reports)].join("\n")}\n`);
}

function sumUp(reports: readonly CheckReport[]): string {
  const results = reports.flatMap((report) => report.results);
  const count = (status: Status) => results.filter((result) => result.status === status).length;
  const repairs = results.filter((result) => result.repair).length;
  const offer = repairs === 0 ? "" : ` ${repairs} can be repaired: openclaw doctor --fix`;
  return `${count("ok")} ok, ${count("warn")} to look at, ${count("fail")} failed.${offer}`;
}

/** The reports as JSON, with the gravest status, and secrets masked. */
export function reportJson(reports: readonly CheckReport[]): unknown {
  const status = worst(reports.flatMap((report) => report.results));
  const checks = reports.map(({ results, ...report }) => ({
    ...report,
    status: worst(results),
    results: results.map(({ repair, ...result }) => ({ ...result, ...(repair && { repair: repair.describe }) })),
  }));
  return maskStrings({ status, checks });
}
