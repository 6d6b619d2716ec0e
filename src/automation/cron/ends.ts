import type { CronJob, CronAlert, CronDestination } from "../../types/cron/job.ts";
import type { CronRun, CronState, CronUnderway } from "../../types/cron/run.ts";
import type { InboxRow, Inbox, RunLedger } from "../../types/journal.ts";
import { turnIdOf } from "../../dispatch/turn-facts.ts";
import { endedRow, sentRows } from "../follow.ts";
import { afterRun, afterSkip, isOwnSlot } from "./after-run.ts";
import { CRON } from "./cron-message.ts";
import type { Due } from "./due.ts";
import type { CronEntry, CronJobs } from "./jobs.ts";
import type { CronPorts } from "./ports.ts";
import { failedRecord, recordOf, skippedRecord } from "./record.ts";
import { runView } from "./views.ts";
import { defined } from "../../utils/defined.ts";
import type { Clock } from "../../types/clock.ts";
import type { SessionKey } from "../../types/ids.ts";

/** Services of the scheduler: the signal of its stop, and work that is carried out in the background. */
interface CronWork {
  readonly signal: AbortSignal;
  keep(name: string, work: Promise<void>): void;
}

/** Records the ends of jobs' slots, publishes them and sends alerts. */
export class CronEnds {
  readonly #jobs: CronJobs;
  readonly #ports: CronPorts;
  readonly #by: CronWork;

  constructor(jobs: CronJobs, ports: CronPorts, by: CronWork) {
    this.#jobs = jobs;
    this.#ports = ports;
    this.#by = by;
  }

  /** Waits for the end of a slot. Returns undefined when its job is gone by then, or the scheduler stops. */
  async runOf(id: string, underway: CronUnderway): Promise<CronRun | undefined> {
    const ports = { clock: this.#ports.clock, journal: this.#ports.journal, signal: this.#by.signal };
    const row = await endedRow({ channel: CRON, eventKey: underway.eventKey }, ports);
    const entry = this.#jobs.find(id);
    if (!entry || this.#by.signal.aborted) return undefined;
    const run = row
      ? await this.#recordOf(entry.job, underway, await lastTurn(entry.job, row, ports))
      : lost(entry.job, underway, this.#ports.clock.now());
    return this.#by.signal.aborted ? undefined : run;
  }

  /** Records the end of a slot, and changes the job accordingly. */
  async record(id: string, underway: CronUnderway, run: CronRun): Promise<void> {
    const entry = this.#jobs.find(id);
    if (!entry) return;
    const { log, rules, journal } = this.#ports;
    const { job } = entry;
    const state: CronState = isOwnSlot(job, underway)
      ? { ...entry.state, cursorMs: Math.max(underway.slotMs, entry.state.cursorMs) }
      : entry.state;
    const alert = alertOf(job, rules().failureAlert);
    const after = afterRun({ job, state, run, underway }, alert, rules().retry);
    await journal.cron.addRun(run, underway.eventKey, after.state);
    this.#jobs.changed(id, after.state);
    if (after.job === "removed") await this.#jobs.remove(id);
    if (after.job === "disabled") await this.#jobs.disable(id, after.state);
    const fields = { job: id, name: job.name, status: run.status, delivery: run.deliveryStatus, error: run.error };
    if (run.status === "error") log.warn("scheduled job failed", fields);
    else log.info("scheduled job ended", fields);
    this.#tellEnd(run);
    if (after.isAlert && alert) this.#by.keep("the alert of a scheduled job", this.#alert(job, run, after.state));
  }

  /** Records slots that are not run, as one record. */
  async skip({ job, state }: CronEntry, due: Due & { kind: "skip" }, now: number): Promise<void> {
    const { slotMs, fromMs, why } = due;
    const run = skippedRecord(job, slotMs, skipText(due), now);
    const after = afterSkip(state, run, alertOf(job, this.#ports.rules().failureAlert));
    await this.#ports.journal.cron.addRun(run, `cron:${job.id}:${job.scheduleRevision}:${slotMs}`, after.state);
    this.#jobs.changed(job.id, after.state);
    if (after.isAlert) this.#by.keep("the alert of a scheduled job", this.#alert(job, run, after.state));
    this.#ports.log.warn("scheduled job skipped", {
      job: job.id,
      name: job.name,
      slot: new Date(slotMs).toISOString(),
      ...(fromMs !== undefined && { from: new Date(fromMs).toISOString() }),
      why,
    });
    this.#tellEnd(run);
  }

  async #recordOf(job: CronJob, underway: CronUnderway, row: InboxRow): Promise<CronRun | undefined> {
    const { clock, journal, sessions, reach } = this.#ports;
    const sent = await sentRows(row.id, { clock, journal, signal: this.#by.signal });
    const key = row.sessionKey ?? row.message.options?.sessionKey;
    const end = {
      job,
      underway,
      row,
      sent,
      record: row.runId === undefined ? undefined : await journal.runs.find(row.runId),
      sessionId: key && sessions.idOf(key),
      answer: key === undefined || row.outcome?.kind === "failed" ? "" : await sessions.answerOf(key, turnIdOf(row)),
      now: clock.now(),
    };
    const url = webhookOf(job);
    if (url === undefined || this.#by.signal.aborted) return recordOf(end);
    return recordOf({ ...end, webhook: await reach.call(url, recordOf(end)) });
  }

  #tellEnd(run: CronRun): void {
    this.#ports.publish(runView(run, this.#jobs.find(run.jobId)?.runsAtMs));
  }

  async #alert(job: CronJob, run: CronRun, state: CronState): Promise<void> {
    const { failureAlert, failureDestination } = this.#ports.rules();
    const alert = alertOf(job, failureAlert);
    const key = `cron-alert:${job.id}:${run.ts}`;
    await this.#ports.reach.alert(job, alertText(job, run, state), {
      key,
      to: destinationOf(job, alert, failureDestination),
    });
  }
}

const skipText = ({ fromMs, why }: Due & { kind: "skip" }): string =>
  fromMs === undefined ? why : `${why} (with all slots since ${new Date(fromMs).toISOString()})`;

function webhookOf({ delivery }: CronJob): string | undefined {
  if (delivery?.mode === "webhook") return delivery.to;
  return delivery?.mode === "announce" ? delivery.completionDestination?.to : undefined;
}

/**
 * The record of a slot whose message the journal does not have: it was removed because of its age, or a power cut took
 * it before the turn began.
 */
const lost = (job: CronJob, underway: CronUnderway, now: number): CronRun =>
  failedRecord(job, underway, "its run is not in the journal", now);

const MOST_ERROR_CHARS = 500;

/** The alert rules of a job; undefined when nobody gets an alert. `global`: the rules for jobs that have none. */
function alertOf({ failureAlert, delivery }: CronJob, global: CronAlert | undefined): CronAlert | undefined {
  if (failureAlert === false) return undefined;
  // An owner who does not mind a lost delivery wants no alert about one, unless the job itself sets one.
  if (failureAlert === undefined && delivery?.bestEffort === true) return undefined;
  return failureAlert ?? global;
}

/**
 * The place of an alert: the alert's own, else the job's place for failures, else the config's (`global`), else the
 * place of the job's reports. The alert's own `mode` and `accountId` apply in each case.
 */
function destinationOf(
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

/** The text of an alert. No model writes it: the failure may be the model's. */
function alertText({ id, name }: CronJob, run: CronRun, state: CronState): string {
  const failures = state.consecutiveErrors ?? 0;
  const what = run.status === "skipped" ? "was skipped" : failedText(failures);
  const why = (run.error ?? run.summary ?? "").slice(0, MOST_ERROR_CHARS);
  const off = state.autoDisabled ? "It is switched off now. " : "";
  return `⚠️ The scheduled task "${name}" ${what}: ${why}\n\n${off}See \`openclaw cron runs --id ${id}\`.`;
}

const failedText = (failures: number): string => (failures > 1 ? `failed ${failures} times in a row` : "failed");

/** Milliseconds between two looks whether a run's subagents have ended. */
const LOOK_MS = 1000;

interface Ports {
  readonly clock: Clock;
  readonly journal: { readonly inbox: Pick<Inbox, "open" | "ofRun">; readonly runs: Pick<RunLedger, "last"> };
  readonly signal: AbortSignal;
}

/**
 * The turn with which an isolated run is over: the last turn that announced a subagent to its agent, or the run's first
 * one. Resolves when no subagent of the run works any more, or when the signal aborts.
 */
async function lastTurn({ sessionTarget }: CronJob, row: InboxRow, ports: Ports): Promise<InboxRow> {
  const { sessionKey: key } = row;
  if (sessionTarget !== "isolated" || key === undefined) return row;
  while (!ports.signal.aborted && (await isAtWork(key, ports)))
    await new Promise<void>((resolve) => ports.clock.after(LOOK_MS, resolve));
  const record = await ports.journal.runs.last(key);
  const [last] = record ? await ports.journal.inbox.ofRun(record.runId) : [];
  return last?.message.options?.announce ? last : row;
}

/** Whether a subagent of the session works, or the announcement of one is still to come. */
async function isAtWork(key: SessionKey, { journal }: Ports): Promise<boolean> {
  const rows = await journal.inbox.open();
  return rows.some(
    ({ message: { options } }) =>
      options?.subagent?.root === key || (options?.announce !== undefined && options.sessionKey === key),
  );
}
