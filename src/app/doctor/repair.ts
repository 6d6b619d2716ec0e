import { errorText } from "../../utils/text/error-text.ts";
import type { CheckReport } from "./run-checks.ts";

export interface RepairOptions {
  /** Called before each repair; leave it out to repair without asking (`--yes`, `--non-interactive`). */
  readonly ask?: (question: string) => Promise<boolean>;
  readonly write: (line: string) => void;
}

export interface RepairSum {
  readonly done: number;
  readonly declined: number;
  readonly failed: number;
}

/** Shows each repair, asks, and applies only that one. A repair that throws is reported and does not stop the others. */
export async function applyRepairs(reports: readonly CheckReport[], options: RepairOptions): Promise<RepairSum> {
  const sum = { done: 0, declined: 0, failed: 0 };
  for (const { repair } of reports.flatMap((report) => report.results)) {
    if (!repair) continue;
    options.write(repair.describe);
    const isWanted = options.ask ? await options.ask("Do this?") : true;
    const outcome = isWanted ? await tryRepair(repair, options.write) : "declined";
    sum[outcome] += 1;
  }
  return sum;
}

async function tryRepair(
  repair: { apply(): Promise<void> },
  write: RepairOptions["write"],
): Promise<"done" | "failed"> {
  try {
    await repair.apply();
    return "done";
  } catch (error) {
    write(`  failed: ${errorText(error)}`);
    return "failed";
  }
}
