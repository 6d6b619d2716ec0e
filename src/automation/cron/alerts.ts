import type { CronAlert, CronDestination, CronJob } from "../../types/cron/job.ts";
import { defined } from "../../utils/defined.ts";
import type { CronRun, CronState } from "../../types/cron/run.ts";

const MOST_ERROR_CHARS = 500;

/** The alert that applies to a job; undefined when nobody is told. `global`: for jobs that say nothing of it. */
export function alertOf({ failureAlert, delivery }: CronJob, global: CronAlert | undefined): CronAlert | undefined {
  if (failureAlert === false) return undefined;
  // Whoever does not mind a lost delivery does not want to hear of one, unless the job says so itself.
  if (failureAlert === undefined && delivery?.bestEffort === true) return undefined;
  return failureAlert ?? global;
}

/**
 * Where the alert goes: as it says, else as the job says for failures, else as the config says (`global`), else to where the job reports. How
 * it goes, and by which account, is what the alert says, where it does.
 */
export function destinationOf(
  { delivery }: CronJob,
  alert: CronAlert | undefined,
  global: CronDestination | undefined,
): CronDestination {
  if (alert?.to !== undefined || alert?.channel !== undefined) return alert;
  const named = delivery?.failureDestination ?? global ?? reportIn(delivery);
  return { ...named, ...defined({ mode: alert?.mode, accountId: alert?.accountId }) };
}

function reportIn(delivery: CronJob["delivery"]): CronDestination {
  if (delivery?.mode !== "announce") return {};
  const { channel, to, accountId } = delivery;
  return { channel, to, accountId };
}

/** No model is asked for it: the failure may be the model's. */
export function alertText({ id, name }: CronJob, run: CronRun, state: CronState): string {
  const failures = state.consecutiveErrors ?? 0;
  const what = run.status === "skipped" ? "was skipped" : failedText(failures);
  const why = (run.error ?? run.summary ?? "").slice(0, MOST_ERROR_CHARS);
  const off = state.autoDisabled ? " It is switched off now." : "";
  return `⚠️ The scheduled task "${name}" ${what}: ${why}\n\n${off}See \`openclaw cron runs --id ${id}\`.`.replace(
    "\n\n It",
    "\n\nIt",
  );
}

const failedText = (failures: number): string => (failures > 1 ? `failed ${failures} times in a row` : "failed");
