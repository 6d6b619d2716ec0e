import type { CronJob } from "../../types/cron/job.ts";
import type { CronRun, CronState, CronUnderway } from "../../types/cron/run.ts";
import type { InboxRow } from "../../types/journal.ts";
import { ended, sentFor } from "../follow.ts";
import { afterRun, afterSkip, isOwnSlot } from "./after-run.ts";
import { alertOf, alertText, destinationOf } from "./alerts.ts";
import { CRON } from "./cron-message.ts";
import type { Due } from "./due.ts";
import type { CronEntry, CronJobs } from "./jobs.ts";
import { lastTurn } from "./last-turn.ts";
import type { CronPorts } from "./ports.ts";
import { failedRecord, recordOf, skippedRecord } from "./record.ts";
import { runView } from "./views.ts";

/** What the scheduler gives: when to stop, and work that is carried out besides. */
interface CronWork {
  readonly signal: AbortSignal;
  keep(name: string, work: Promise<void>): void;
}

/** Records how the slots of jobs ended, and tells of it. */
export class CronEnds {
  readonly #jobs: CronJobs;
  readonly #ports: CronPorts;
  readonly #by: CronWork;

  constructor(jobs: CronJobs, ports: CronPorts, by: CronWork) {
    this.#jobs = jobs;
    this.#ports = ports;
    this.#by = by;
  }

  /** Waits for the end of a slot; undefined when its job is gone by then, or the scheduler stops. */
  async runOf(id: string, underway: CronUnderway): Promise<CronRun | undefined> {
    const ports = { clock: this.#ports.clock, journal: this.#ports.journal, signal: this.#by.signal };
    const row = await ended({ channel: CRON, eventKey: underway.eventKey }, ports);
    const entry = this.#jobs.find(id);
    if (!entry || this.#by.signal.aborted) return undefined;
    const run = row
      ? await this.#recordOf(entry.job, underway, await lastTurn(entry.job, row, ports))
      : lost(entry.job, underway, this.#ports.clock.now());
    return this.#by.signal.aborted ? undefined : run;
  }

  /** Records how a slot ended, and changes the job as its end says. */
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

  /** Records slots that are not run. */
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
    const sent = await sentFor(row.id, { clock, journal, signal: this.#by.signal });
    const key = row.sessionKey ?? row.message.options?.sessionKey;
    const end = {
      job,
      underway,
      row,
      sent,
      record: row.runId === undefined ? undefined : await journal.runs.find(row.runId),
      sessionId: key && sessions.idOf(key),
      answer: key === undefined || row.outcome?.kind === "failed" ? "" : await sessions.lastAnswer(key),
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

/** The journal does not have its message: it was removed with its time, or a power cut took it before it began. */
const lost = (job: CronJob, underway: CronUnderway, now: number): CronRun =>
  failedRecord(job, underway, "its run is not in the journal", now);
