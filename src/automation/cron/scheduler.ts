import { randomUUID } from "node:crypto";
import type { CronJob } from "../../types/cron/job.ts";
import type { CronState, CronUnderway } from "../../types/cron/run.ts";
import { DEFAULT_ACCOUNT } from "../../types/ids.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { CRON, cronMessage, withEvent, type CronCause } from "./cron-message.ts";
import { decideSlot, graceOf, type Due } from "./due.ts";
import { CronEnds } from "./ends.ts";
import type { CronEntry, CronJobs } from "./jobs.ts";
import type { CronPorts } from "./ports.ts";
import { failedRecord, queuedRecord } from "./record.ts";
import type { Clock } from "../../types/clock.ts";
import type { Log } from "../../types/log.ts";
import { JobWatch, type WatchPorts } from "./watch/watch.ts";

/** Longest time in milliseconds until a change of the clock, or the end of a machine's sleep, is noticed. */
const LONGEST_WAIT_MS = 60_000;
/** Milliseconds until a slot that could not be written is tried again. */
const AGAIN_MS = 10_000;

/** Reason why a job was not begun on request. */
export type NotRun = "not-due" | "already-running" | "disabled";

/**
 * Begins the slots of jobs at their times; `CronEnds` records their ends. A slot is a message of the inbox, so that it
 * begins at most once and survives a kill; the scheduler itself keeps nothing that the journal does not have.
 */
export class CronScheduler {
  readonly #jobs: CronJobs;
  readonly #ports: CronPorts;
  readonly #stop = new AbortController();
  readonly #underway = new Set<Promise<void>>();
  readonly #watches: Watches;
  readonly #ends: CronEnds;
  #cancel: () => void = () => undefined;
  #isStarted = false;
  /** Number of slots that are about to be under way. */
  #starting = 0;

  constructor(jobs: CronJobs, ports: CronPorts) {
    this.#jobs = jobs;
    this.#ports = ports;
    this.#ends = new CronEnds(jobs, ports, { signal: this.#stop.signal, keep: (name, work) => this.#keep(name, work) });
    this.#watches = new Watches({
      ...ports,
      start: (job) => ports.watch(job),
      fire: (job, event) => this.#fire(job, event),
      failed: (job, why, isLast) => this.#watchFailed(job, why, isLast),
    });
  }

  /** Follows the slots that an earlier process began, and begins due slots. */
  start(): void {
    this.#isStarted = true;
    for (const entry of this.#jobs.all()) if (entry.state.underway) this.#follow(entry.job.id, entry.state.underway);
    this.tick();
  }

  /**
   * Stops the scheduler, which then begins no further slots. Slots that are under way are followed again after the next
   * start.
   */
  async close(): Promise<void> {
    this.#cancel();
    this.#stop.abort();
    await Promise.all([this.#watches.close(), ...this.#underway]);
  }

  /** Looks at every job that is due. Called when a job was changed. */
  tick(): void {
    if (!this.#isStarted || this.#stop.signal.aborted) return;
    this.#cancel();
    const now = this.#ports.clock.now();
    let next = now + LONGEST_WAIT_MS;
    if (this.#ports.rules().enabled) {
      for (const { job, nextMs } of this.#jobs.all()) {
        if (nextMs === undefined) continue;
        if (nextMs <= now) this.#keep("a scheduled job", this.#step(job.id));
        else next = Math.min(next, nextMs);
      }
    }
    this.#cancel = this.#ports.clock.after(next - now, () => this.tick());
    this.#watches.sync(this.#ports.rules().enabled ? this.#jobs.all() : []);
  }

  /** Begins a job because of an event of its command. False while the job cannot begin. */
  #fire({ id, schedule, scheduleRevision }: CronJob, event: string): Promise<boolean> {
    return this.#jobs.exclusive(id, async (entry) => {
      if (entry.job.scheduleRevision !== scheduleRevision) return false;
      if (entry.state.underway || this.#isFull()) return false;
      const now = this.#ports.clock.now();
      // The end of a command begins its job once, even if the command had to be run again.
      const name = schedule.kind === "on-exit" ? "exit" : `event:${randomUUID()}`;
      const eventKey = `cron:${id}:${scheduleRevision}:${name}`;
      await this.#begin(entry, { eventKey, slotMs: now, startedAtMs: now, scheduleRevision }, { event });
      return true;
    });
  }

  /**
   * Records a failed command. `isLast`: the command is not started again. The command of a schedule that the job no
   * longer has decides nothing.
   */
  async #watchFailed({ id, scheduleRevision }: CronJob, error: string, isLast: boolean): Promise<void> {
    await this.#jobs.exclusive(id, async (entry) => {
      const { job } = entry;
      if (job.scheduleRevision !== scheduleRevision) return;
      const now = this.#ports.clock.now();
      const eventKey = `cron:${id}:${job.scheduleRevision}:command:${now}`;
      const underway = { eventKey, slotMs: now, startedAtMs: now, scheduleRevision };
      // The job has an active run, whose record is still to come.
      if (entry.state.underway) this.#ports.log.warn("the command of a scheduled job failed", { job: id, error });
      else await this.#ends.record(id, underway, failedRecord(job, underway, error, now));
      const { state } = this.#jobs.find(id) ?? entry;
      const { consecutiveErrors = 1 } = state;
      const autoDisabled = { reason: "consecutive-failures", atMs: now, consecutiveErrors } as const;
      if (isLast && this.#jobs.find(id)?.job.enabled) await this.#jobs.disable(id, { ...state, autoDisabled });
    });
    this.tick();
  }

  /** Begins a job on request: `force` always, `due` only when a slot is due, `if-enabled` only when the job is on. */
  run(id: string, mode: "force" | "due" | "if-enabled"): Promise<{ readonly eventKey: string } | NotRun> {
    return this.#jobs.exclusive(id, async (entry) => {
      if (entry.state.underway) return "already-running";
      if (mode === "if-enabled" && !entry.job.enabled) return "disabled";
      const now = this.#ports.clock.now();
      const due = this.#dueOf(entry, now);
      if (mode === "due" && due.kind !== "run") return "not-due";
      const eventKey =
        due.kind === "run" && mode === "due" ? slotKey(entry.job, due) : `cron:${id}:asked:${randomUUID()}`;
      const slot = due.kind === "run" && mode === "due" ? due : { slotMs: now, tries: 0 };
      await this.#begin(entry, {
        eventKey,
        slotMs: slot.slotMs,
        startedAtMs: now,
        scheduleRevision: entry.job.scheduleRevision,
        ...(mode !== "due" && { isForced: true }),
      });
      return { eventKey };
    });
  }

  /** Called by the run of a job, to have the next run `ms` after its end. False when no run of the job is active. */
  nextCheck(id: string, ms: number): Promise<boolean> {
    return this.#jobs.exclusive(id, async ({ state }) => {
      if (!state.underway) return false;
      await this.#jobs.putState(id, { ...state, underway: { ...state.underway, nextCheckMs: ms } });
      return true;
    });
  }

  #dueOf({ job, state, times }: CronEntry, now: number): Due {
    return decideSlot(job, { state, times, skipsMissed: this.#ports.rules().skipsMissed }, now);
  }

  async #step(id: string): Promise<void> {
    if (!this.#jobs.find(id)) return;
    const again = await this.#jobs.exclusive(id, async (entry) => {
      const now = this.#ports.clock.now();
      const due = this.#dueOf(entry, now);
      if (due.kind === "wait") return this.#jobs.waits(id, due.untilMs);
      if (due.kind === "skip")
        return (await this.#continues(entry, due)) ? undefined : this.#ends.skip(entry, due, now);
      if (this.#isFull()) return this.#jobs.waits(id, undefined, "full");
      const lateMs = due.lateMs > graceOf(entry.job) ? due.lateMs : undefined;
      const { slotMs, tries } = due;
      const { scheduleRevision } = entry.job;
      const begun = { eventKey: slotKey(entry.job, due), slotMs, startedAtMs: now, scheduleRevision };
      const underway = { ...begun, ...(tries > 0 && { tries }) };
      this.#starting += 1;
      return this.#begin(entry, underway, { lateMs }).finally(() => (this.#starting -= 1));
    });
    if (again !== "unchanged") this.tick();
  }

  /**
   * Continues a slot that an earlier process began just before its own end, so that only the inbox has the slot. False
   * when there is none.
   */
  async #continues(entry: CronEntry, { slotMs, fromMs = slotMs }: Due & { kind: "skip" }): Promise<boolean> {
    const eventKey = slotKey(entry.job, { slotMs: fromMs, tries: 0 });
    const row = await this.#ports.journal.inbox.find(CRON, DEFAULT_ACCOUNT, eventKey);
    if (!row) return false;
    const { scheduleRevision } = entry.job;
    await this.#begin(entry, { eventKey, slotMs: fromMs, startedAtMs: row.message.receivedAt, scheduleRevision });
    return true;
  }

  #isFull(): boolean {
    return this.#jobs.underwayCount() + this.#starting >= this.#ports.rules().maxConcurrentRuns;
  }

  async #begin(entry: CronEntry, underway: CronUnderway, { lateMs, event }: CronCause = {}): Promise<void> {
    const { job } = entry;
    const place = await this.#ports.reach.placeOf(job, runNameOf(underway));
    const isDropped = place.problem !== undefined && job.delivery?.bestEffort !== true;
    if (isDropped)
      return this.#ends.record(
        entry.job.id,
        underway,
        failedRecord(job, underway, place.problem, underway.startedAtMs),
      );
    if (job.payload.kind === "systemEvent" && job.wakeMode === "next-heartbeat") {
      await this.#ports.sessions.tell(place.sessionKey, withEvent(job.payload.text, job, event));
      return this.#ends.record(job.id, underway, queuedRecord(job, underway, underway.startedAtMs));
    }
    const { timezone } = this.#ports.rules();
    const { eventKey, slotMs, startedAtMs: now } = underway;
    await this.#ports.receive([cronMessage({ job, eventKey, place, now, timezone, lateMs, event })]);
    const state = {
      ...(underway.isForced === true ? withoutRetry(entry.state) : withoutPlans(entry.state)),
      underway,
      ...(underway.isForced !== true && { cursorMs: Math.max(slotMs, entry.state.cursorMs) }),
    };
    await this.#jobs.putState(job.id, state);
    this.#ports.log.info("scheduled job", {
      job: job.id,
      name: job.name,
      session: place.sessionKey,
      ...(lateMs !== undefined && { lateMs }),
    });
    this.#ports.publish({ jobId: job.id, action: "started", runAtMs: now });
    this.#follow(job.id, underway);
  }

  #follow(id: string, underway: CronUnderway): void {
    this.#keep("the end of a scheduled job", this.#finish(id, underway));
  }

  async #finish(id: string, underway: CronUnderway): Promise<void> {
    const run = await this.#ends.runOf(id, underway);
    if (!run) return;
    await this.#jobs.exclusive(id, () => this.#ends.record(id, underway, run));
    this.tick();
  }

  #keep(name: string, work: Promise<void>): void {
    const kept = work
      .catch((error: unknown) => {
        this.#ports.log.error(`${name} could not be carried out`, { error: errorText(error) });
        // A full disk, for instance: nothing was begun, and the slot is still due.
        this.#cancel();
        this.#cancel = this.#ports.clock.after(AGAIN_MS, () => this.tick());
      })
      .finally(() => this.#underway.delete(kept));
    this.#underway.add(kept);
  }
}

/** Permanent name of a slot. A second try of a slot is another message. */
const slotKey = (
  { id, scheduleRevision }: CronJob,
  { slotMs, tries }: Pick<Due & { kind: "run" }, "slotMs" | "tries">,
): string => `cron:${id}:${scheduleRevision}:${slotMs}${tries > 0 ? `:try${tries}` : ""}`;

/** The last part of the session key of an isolated run. */
const runNameOf = ({ eventKey }: CronUnderway): string => eventKey.split(":").slice(2).join("-");

const withoutRetry = ({ retry: _retry, ...state }: CronState): CronState => state;
const withoutPlans = ({ retry: _retry, pacedAtMs: _paced, ...state }: CronState): CronState => state;

interface Ports {
  readonly clock: Clock;
  readonly log: Log;
  start: WatchPorts["start"];
  fire(job: CronJob, event: string): Promise<boolean>;
  failed(job: CronJob, why: string, isLast: boolean): Promise<void>;
}

/** The commands of all jobs that begin by the output or end of a command. */
class Watches {
  readonly #ports: Ports;
  /** Watches by job and revision of its schedule. */
  readonly #kept = new Map<string, JobWatch>();
  readonly #running = new Set<Promise<void>>();

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /**
   * Starts the commands of jobs that are on, ends all others, and begins jobs with waiting events. Called after each
   * change.
   */
  sync(entries: Iterable<Pick<CronEntry, "job" | "state">>): void {
    const wanted = new Map<string, Pick<CronEntry, "job" | "state">>();
    for (const entry of entries) if (isWatching(entry)) wanted.set(keyOf(entry.job), entry);
    for (const [key, watch] of this.#kept) {
      if (wanted.has(key)) continue;
      watch.stop();
      this.#kept.delete(key);
    }
    for (const [key, { job, state }] of wanted) {
      // The command that began the job has ended: the job's run continues after a restart, and the command does not.
      const isBegun = job.schedule.kind === "on-exit" && state.underway !== undefined;
      const watch = this.#kept.get(key);
      if (watch) watch.poke();
      else if (!isBegun) this.#start(key, job);
    }
  }

  /** Ends all commands. */
  async close(): Promise<void> {
    this.sync([]);
    await Promise.all(this.#running);
  }

  #start(key: string, job: CronJob): void {
    const { clock, log, start, fire, failed } = this.#ports;
    const watch = new JobWatch(job, {
      clock,
      log,
      start,
      fire: (event) => fire(job, event),
      failed: (why, isLast) => failed(job, why, isLast),
    });
    this.#kept.set(key, watch);
    const running = watch
      .run()
      .catch((error: unknown) => log.error("the command of a job broke", { job: job.id, error: errorText(error) }))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }
}

const isWatching = ({ job: { enabled, schedule } }: Pick<CronEntry, "job">): boolean =>
  enabled && (schedule.kind === "on-exit" || schedule.kind === "stream");

const keyOf = ({ id, scheduleRevision }: CronJob): string => `${id} ${scheduleRevision}`;
