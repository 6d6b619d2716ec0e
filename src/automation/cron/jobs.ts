import { randomUUID } from "node:crypto";
import type { z } from "zod";
import { type CronJob, cronJob, type CronWish, problemIn } from "../../types/cron/job.ts";
import { type CronState, cronState } from "../../types/cron/run.ts";
import type { CronTable, StoredCron, StoredRow } from "../../types/cron/table.ts";
import type { Clock } from "../../types/clock.ts";
import { isSameData } from "../../utils/fields.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { KeyedQueue } from "../../utils/keyed-queue.ts";
import { slotTimes, type SlotTimes } from "./reading/times.ts";

/** A job in memory. */
export interface CronEntry extends StoredCron {
  readonly times: SlotTimes;
  /** Epoch milliseconds of the next look at the job; undefined for never. */
  readonly nextMs: number | undefined;
  /** Epoch milliseconds of the next run; undefined for never. */
  readonly runsAtMs: number | undefined;
}

export interface UnreadableJob {
  readonly id: string;
  readonly why: string;
}

/** `nextMs` of a job that waits for the end of another one. */
const FULL = Number.POSITIVE_INFINITY;

/** All jobs of the journal, in memory. Changes of one job happen one after the other. */
export class CronJobs {
  readonly #table: CronTable;
  readonly #clock: Clock;
  readonly #entries = new Map<string, CronEntry>();
  readonly #unreadable: UnreadableJob[] = [];
  readonly #queue = new KeyedQueue();

  private constructor(table: CronTable, clock: Clock) {
    this.#table = table;
    this.#clock = clock;
  }

  static async open(table: CronTable, clock: Clock): Promise<CronJobs> {
    const jobs = new CronJobs(table, clock);
    for (const stored of await table.all()) {
      const read = readStored(stored);
      if ("job" in read) jobs.#keep(read);
      else jobs.#unreadable.push({ id: stored.id, why: read.why });
    }
    return jobs;
  }

  /** Jobs of the journal that do not run: their rows have a wrong shape. These rows stay until they are removed. */
  get unreadable(): readonly UnreadableJob[] {
    return this.#unreadable;
  }

  all(): Iterable<CronEntry> {
    return this.#entries.values();
  }

  get count(): number {
    return this.#entries.size;
  }

  find(id: string): CronEntry | undefined {
    return this.#entries.get(id);
  }

  declaredAs(key: string): CronEntry | undefined {
    return [...this.#entries.values()].find(({ job }) => job.declarationKey === key);
  }

  underwayCount(): number {
    let count = 0;
    for (const { state } of this.#entries.values()) count += Number(state.underway !== undefined);
    return count;
  }

  /** Does work on a job when no other work is done on it. Rejects when there is no such job. */
  exclusive<T>(id: string, work: (entry: CronEntry) => Promise<T>): Promise<T> {
    return this.#queue.run(id, async () => work(this.#need(id)));
  }

  /** Adds a job. `id`: the id of a job of another gateway, which is not run for times that have passed. */
  async add(wish: CronWish, setUpBy: CronJob["setUpBy"], id?: string): Promise<CronJob> {
    const now = this.#clock.now();
    const own = id ?? randomUUID();
    const job: CronJob = { ...wish, id: own, createdAtMs: now, updatedAtMs: now, scheduleRevision: 1, setUpBy };
    const state: CronState = { cursorMs: id === undefined ? startOf(job, now) : now };
    await this.#table.put(job, state);
    this.#keep({ job, state });
    return job;
  }

  /** Replaces the settings of a job. A new schedule, and a switch on, count from now on. Called in `exclusive`. */
  async update(entry: CronEntry, wish: CronWish): Promise<CronJob> {
    const now = this.#clock.now();
    const { id, createdAtMs, scheduleRevision, setUpBy } = entry.job;
    const isNew = !isSameData(wish.schedule, entry.job.schedule) || (wish.enabled && !entry.job.enabled);
    const revision = scheduleRevision + Number(isNew);
    const job: CronJob = { ...wish, id, createdAtMs, updatedAtMs: now, scheduleRevision: revision, setUpBy };
    const state = isNew ? renewed(entry.state, startOf(job, now)) : entry.state;
    await this.#table.put(job, state);
    this.#keep({ job, state });
    return job;
  }

  async remove(id: string): Promise<boolean> {
    const isRemoved = await this.#table.remove(id);
    this.#entries.delete(id);
    return isRemoved;
  }

  async disable(id: string, state: CronState): Promise<void> {
    const { job } = this.#need(id);
    const off = { ...job, enabled: false, updatedAtMs: this.#clock.now() };
    await this.#table.put(off, state);
    this.#keep({ job: off, state });
  }

  async putState(id: string, state: CronState): Promise<void> {
    await this.#table.putState(id, state);
    this.changed(id, state);
  }

  /**
   * Called when the journal has this state of a job. Looks again at jobs that waited because too many were under way.
   */
  changed(id: string, state: CronState): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    this.#keep({ job: entry.job, state });
    if (state.underway) return;
    for (const one of this.#entries.values()) if (one.nextMs === FULL) this.#keep(one);
  }

  /** Notes that nothing is due for a job until `untilMs`. `full`: until another job has ended. */
  waits(id: string, untilMs: number | undefined, why?: "full"): "unchanged" {
    const entry = this.#entries.get(id);
    if (entry) this.#entries.set(id, { ...entry, nextMs: why === "full" ? FULL : untilMs });
    return "unchanged";
  }

  #keep({ job, state }: StoredCron): void {
    const known = this.#entries.get(job.id);
    const times = known && known.job.schedule === job.schedule ? known.times : slotTimes(job.schedule, job.id);
    this.#entries.set(job.id, { job, state, times, ...nextTimes({ job, state }, times) });
  }

  #need(id: string): CronEntry {
    const entry = this.#entries.get(id);
    if (!entry) throw new Error(`there is no scheduled job ${id}`);
    return entry;
  }
}

/**
 * A job of the journal as it was stored, or the reason why it cannot be run. The shape of the row is checked, because
 * one odd row must not keep the other jobs from running.
 */
export function readStored({ id, job, state }: StoredRow): StoredCron | { readonly why: string } {
  if (!isJob(job)) return { why: problemOf(cronJob, job) };
  if (job.id !== id) return { why: `its id is that of another job, ${job.id}` };
  if (!isState(state)) return { why: `its state has another shape: ${problemOf(cronState, state)}` };
  try {
    nextTimes({ job, state }, slotTimes(job.schedule, id));
    return { job, state };
  } catch (error) {
    return { why: `its schedule cannot be read: ${errorText(error)}` };
  }
}

const isJob = (value: unknown): value is CronJob => cronJob.safeParse(value).success;
const isState = (value: unknown): value is CronState => cronState.safeParse(value).success;

function problemOf(shape: z.ZodType, value: unknown): string {
  const { error } = shape.safeParse(value);
  return error ? problemIn(error) : "";
}

/**
 * The next times of a job. Slots that pass while the job rests after failures count for `nextMs`, so that they are
 * recorded as skipped.
 */
function nextTimes({ job, state }: StoredCron, times: SlotTimes): Pick<CronEntry, "nextMs" | "runsAtMs"> {
  if (!job.enabled) return { nextMs: undefined, runsAtMs: undefined };
  const { retry, cursorMs, pacedAtMs, backoffUntilMs = 0 } = state;
  const nextMs = retry?.atMs ?? pacedAtMs ?? times.next(cursorMs);
  const isResting = nextMs !== undefined && nextMs < backoffUntilMs;
  return { nextMs, runsAtMs: isResting ? times.next(backoffUntilMs - 1) : nextMs };
}

/** The moment from which slots of a new schedule count: now. A single slot that has just passed is due at once. */
const startOf = ({ schedule }: CronJob, now: number): number =>
  schedule.kind === "at" ? Math.min(now, Date.parse(schedule.at) - 1) : now;

function renewed({ underway, lastRunAtMs, lastRunStatus, lastDurationMs }: CronState, cursorMs: number): CronState {
  return {
    cursorMs,
    ...(underway && { underway }),
    ...(lastRunAtMs !== undefined && { lastRunAtMs }),
    ...(lastRunStatus !== undefined && { lastRunStatus }),
    ...(lastDurationMs !== undefined && { lastDurationMs }),
  };
}
