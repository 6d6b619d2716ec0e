import { join } from "node:path";
import { readCronJobs } from "../../store/cron/read-jobs.ts";
import type { Check, CheckResult } from "../../types/check.ts";
import type { StoredCron } from "../../types/cron/table.ts";
import { isFields } from "../../utils/fields.ts";
import { errorText } from "../../utils/text/error-text.ts";
import type { CronConfig } from "./config.ts";
import { readStored } from "./jobs.ts";
import { readJobsFile } from "./reading/jobs-file.ts";

interface Places {
  readonly stateDir: string;
  /** The journal's path. */
  readonly journal: string;
  readonly config: Pick<CronConfig, "enabled" | "store">;
}

/** The check of scheduled jobs. It changes nothing. */
export const checks = (places: Places): readonly Check[] => [
  { id: "cron.jobs", title: "Scheduled jobs", run: () => check(places) },
];

async function check({ stateDir, journal, config }: Places): Promise<readonly CheckResult[]> {
  const rows = await readCronJobs(journal);
  const read = rows.map((row) => ({ id: row.id, ...readStored(row) }));
  const jobs = read.flatMap((one) => ("job" in one ? [one] : []));
  const path = config.store ?? join(stateDir, "cron", "jobs.json");
  const odd = read.flatMap((one): CheckResult[] => ("why" in one ? [unreadable(one)] : []));
  const found = [...odd, ...switchedOff(jobs, config), ...failing(jobs), ...(await notTakenOver(jobs, path))];
  if (found.length > 0) return found;
  return [jobs.length === 0 ? { status: "skip", message: "none" } : { status: "ok", message: `${jobs.length}` }];
}

const unreadable = ({ id, why }: { readonly id: string; readonly why: string }): CheckResult => ({
  status: "fail",
  message: `The scheduled job ${id} does not run: ${why}.`,
  fix: `Add it again, then remove this one: openclaw cron rm ${id}.`,
});

function switchedOff(jobs: readonly StoredCron[], { enabled }: Places["config"]): readonly CheckResult[] {
  const on = jobs.filter(({ job }) => job.enabled).length;
  if (enabled || on === 0) return [];
  return [
    {
      status: "warn",
      message: `${on} scheduled jobs do not run: cron.enabled is false.`,
      fix: "Set cron.enabled to true, or remove the jobs: openclaw cron rm <id>.",
    },
  ];
}

const failing = (jobs: readonly StoredCron[]): readonly CheckResult[] =>
  jobs.flatMap(
    ({ job: { id, name }, state: { autoDisabled, consecutiveErrors = 0, lastError } }): readonly CheckResult[] => {
      if (!autoDisabled && consecutiveErrors < 2) return [];
      const off = autoDisabled ? ", and is switched off" : "";
      const message = `The scheduled job "${name}" failed ${consecutiveErrors} times in a row${off}: ${lastError ?? "see its records"}.`;
      const again = autoDisabled ? `, then switch it on: openclaw cron enable ${id}` : "";
      return [{ status: "warn", message, fix: `See why: openclaw cron runs --id ${id}${again}.` }];
    },
  );

const GARBAGE = "Mend it, or remove it if OpenClaw does not need it any more.";

/** Jobs of a file that OpenClaw wrote. */
async function notTakenOver(jobs: readonly StoredCron[], path: string): Promise<readonly CheckResult[]> {
  const known = new Set(jobs.map(({ job }) => job.id));
  const file = await readJobsFile(path).catch((error: unknown) => error);
  if (!Array.isArray(file))
    return file === undefined ? [] : [{ status: "warn", message: errorText(file), fix: GARBAGE }];
  const left = file.flatMap(idOf).filter((id) => !known.has(id));
  if (left.length === 0) return [];
  return [
    {
      status: "warn",
      message: `${left.length} jobs of ${path} are not scheduled here.`,
      fix: `Take them over: openclaw cron import ${path}.`,
    },
  ];
}

const idOf = (job: unknown): readonly string[] => {
  const id = isFields(job) ? (job["id"] ?? job["jobId"]) : undefined;
  return typeof id === "string" ? [id] : [];
};
