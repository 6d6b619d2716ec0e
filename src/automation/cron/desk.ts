import { z } from "zod";
import type { CronAnswers, CronJobView, CronRunView } from "../../types/cron/answers.ts";
import type { CronJob, CronWish } from "../../types/cron/job.ts";
import { type CronRun, type CronRunFilter, cronRun } from "../../types/cron/run.ts";
import { type Fields, isFields } from "../../utils/fields.ts";
import { CRON } from "./cron-message.ts";
import type { CronEntry, CronJobs } from "./jobs.ts";
import { type CronListQuery, isWanted, sorted } from "./list.ts";
import type { CronPorts } from "./ports.ts";
import { inWordsOfToday } from "./reading/old-words.ts";
import { type BadJob, patched, readJob } from "./read-job.ts";
import type { CronScheduler, NotRun } from "./scheduler.ts";
import { type CronDestinations, destinationOf, jobRevision, jobView, runView, jobsRevision } from "./views.ts";
import { runIdOf } from "../../dispatch/turn-facts.ts";
import { DEFAULT_ACCOUNT } from "../../types/ids.ts";

/**
 * Reason why a job was not added, changed or run. `missing`: there is no such job. `conflict`: the job was changed
 * meanwhile.
 */
export type CronRefusal = BadJob | { readonly missing: string } | { readonly conflict: string };

/** The author of a new job. */
export interface CronMaker {
  readonly setUpBy: CronJob["setUpBy"];
  /** Set for an agent, which may set up no job that runs a command by itself. */
  readonly isAgent?: true;
  /** Fields for a job that does not set them itself. */
  readonly defaults?: Fields;
  readonly owner?: NonNullable<CronWish["owner"]>;
}

/** Conditions of a change of a job. */
export interface CronChange {
  /** The revision that the change is for; any when unset. */
  readonly expected?: string | undefined;
  /** As in `CronMaker`. */
  readonly isAgent?: true;
}

const FOR_OPERATORS: BadJob = {
  problem: "only the operator sets up and changes jobs that run a command by themselves: openclaw cron add --command",
};

const runsCommands = ({ payload, schedule }: Pick<CronWish, "payload" | "schedule">): boolean =>
  payload.kind === "command" || schedule.kind === "on-exit" || schedule.kind === "stream";

const MOST_JOBS = 5000;
const FULL: BadJob = { problem: `there are ${MOST_JOBS} scheduled jobs; remove some` };
const DAYS_OF_A_MONTH = 30;
const DAY_MS = 86_400_000;
/** Upper limit of the slots that are counted for an estimate. */
const MOST_COUNTED = 50_000;

/** Operations of people, agents and plugins on scheduled jobs. Reads never wait for runs. */
export class CronDesk {
  readonly #jobs: CronJobs;
  readonly #scheduler: CronScheduler;
  readonly #ports: CronPorts;
  /** Ids of jobs that are being taken over. */
  readonly #adopting = new Set<string>();

  constructor(jobs: CronJobs, scheduler: CronScheduler, ports: CronPorts) {
    this.#jobs = jobs;
    this.#scheduler = scheduler;
    this.#ports = ports;
  }

  status(): CronAnswers["status"] {
    let next = Number.POSITIVE_INFINITY;
    for (const entry of this.#jobs.all()) next = Math.min(next, entry.runsAtMs ?? next);
    return {
      enabled: this.#ports.rules().enabled,
      jobs: this.#jobs.count,
      running: this.#jobs.underwayCount(),
      ...(Number.isFinite(next) && { nextWakeAtMs: next }),
    };
  }

  /** A page of jobs. `snapshotRevision` is the same as long as all pages have the same jobs in the same order. */
  list(query: CronListQuery): { jobs: readonly CronJobView[]; total: number; snapshotRevision: string } {
    const wanted = sorted(
      [...this.#jobs.all()].filter((entry) => isWanted(entry, query)),
      query,
    );
    const { offset = 0, limit = 50 } = query;
    return {
      jobs: wanted.slice(offset, offset + limit).map(viewOf),
      total: wanted.length,
      snapshotRevision: jobsRevision(wanted.map(({ job }) => job)),
    };
  }

  /** Where the reports of these jobs go, by id. */
  async destinations(jobs: readonly { readonly id: string }[]): Promise<CronDestinations> {
    const entries = jobs.flatMap(({ id }) => this.#jobs.find(id) ?? []);
    const places = entries.map(async ({ job }) => {
      const place = await this.#ports.reach.placeOf(job, "preview");
      return [job.id, destinationOf(job, place)] as const;
    });
    return Object.fromEntries(await Promise.all(places));
  }

  get(id: string): CronJobView | undefined {
    const entry = this.#jobs.find(id);
    return entry && viewOf(entry);
  }

  /** The next times of a job, an estimate of its cost in a month, and the place of its reports. */
  async preview(id: string): Promise<CronAnswers["preview"] | undefined> {
    const entry = this.#jobs.find(id);
    if (!entry) return undefined;
    const { job, times } = entry;
    const nextRunsAtMs: number[] = [];
    for (let at = entry.runsAtMs; at !== undefined && nextRunsAtMs.length < 3; at = times.next(at))
      nextRunsAtMs.push(at);
    const place = await this.#ports.reach.placeOf(job, "preview");
    return { nextRunsAtMs, runsPerMonth: monthly(entry, this.#ports.clock.now()), ...(await this.#costOf(id)), place };
  }

  /** Adds a job, or changes the job that already has its `declarationKey`. */
  async add(given: unknown, { setUpBy, isAgent, defaults, owner }: CronMaker): Promise<CronAdded | CronRefusal> {
    const wish = readJob({ ...defaults, ...(owner && { owner }), ...asFields(given) }, this.#reading());
    if ("problem" in wish) return wish;
    if (isAgent && runsCommands(wish)) return FOR_OPERATORS;
    if (isPast(wish, this.#ports.clock.now())) return { problem: "schedule.at: that time is in the past" };
    const known = wish.declarationKey === undefined ? undefined : this.#jobs.declaredAs(wish.declarationKey);
    if (known && isAgent && runsCommands(known.job)) return FOR_OPERATORS;
    if (known) return this.#declare(known, withAnchor(wish, known.job, given));
    if (this.#jobs.count >= MOST_JOBS) return FULL;
    const job = await this.#jobs.add(wish, setUpBy);
    return { view: this.#announce(job.id, "added"), created: true };
  }

  /** Takes over a job of another gateway with its id. False when a job with this id exists. */
  async adopt(given: Fields): Promise<boolean | BadJob> {
    const id = given["id"] ?? given["jobId"];
    if (typeof id !== "string" || !/^[\w.-]{1,200}$/.test(id)) return { problem: "it has no usable id" };
    const wish = readJob(given, this.#reading());
    const isKnown = this.#jobs.find(id) !== undefined || this.#adopting.has(id);
    if (isKnown) return false;
    if ("problem" in wish) return wish;
    if (this.#jobs.count + this.#adopting.size >= MOST_JOBS) return FULL;
    this.#adopting.add(id);
    await this.#jobs.add(wish, "owner", id).finally(() => this.#adopting.delete(id));
    this.#announce(id, "added");
    return true;
  }

  /** Takes over a record of another gateway. False when it is no record of a job of this gateway. */
  async adoptRun(given: Fields): Promise<boolean> {
    const run = readRun(given);
    const entry = run && this.#jobs.find(run.jobId);
    if (!run || !entry) return false;
    await this.#jobs.exclusive(run.jobId, ({ state }) =>
      this.#ports.journal.cron.addRun(run, `cron:${run.jobId}:imported:${run.ts}`, state),
    );
    return true;
  }

  async update(id: string, patch: Fields, { expected, isAgent }: CronChange = {}): Promise<CronJobView | CronRefusal> {
    if (!this.#jobs.find(id)) return { missing: id };
    return this.#jobs.exclusive(id, async (entry) => {
      if (expected !== undefined && expected !== jobRevision(entry.job)) return { conflict: jobRevision(entry.job) };
      const {
        createdAtMs: _created,
        updatedAtMs: _updated,
        scheduleRevision: _revision,
        setUpBy: _setUpBy,
        id: _id,
        ...wish
      } = entry.job;
      const read = readJob(patched({ ...wish }, patch), this.#reading());
      if ("problem" in read) return read;
      if (isAgent && (runsCommands(entry.job) || runsCommands(read))) return FOR_OPERATORS;
      await this.#jobs.update(entry, read);
      return this.#announce(id, "updated");
    });
  }

  async remove(id: string): Promise<boolean> {
    if (!(await this.#jobs.remove(id))) return false;
    this.#scheduler.tick();
    this.#ports.publish({ jobId: id, action: "removed" });
    return true;
  }

  /** Begins a job now. Returns the id of its run, or the reason why it was not begun. */
  async run(
    id: string,
    mode: "due" | "force" | "if-enabled",
  ): Promise<{ runId: string } | { reason: NotRun } | { missing: string }> {
    if (!this.#jobs.find(id)) return { missing: id };
    const begun = await this.#scheduler.run(id, mode);
    if (typeof begun === "string") return { reason: begun };
    const row = await this.#ports.journal.inbox.find(CRON, DEFAULT_ACCOUNT, begun.eventKey);
    return { runId: row ? runIdOf(row) : begun.eventKey };
  }

  /**
   * Called by the run of a job to choose the time of the next run, in milliseconds after its own end. Returns a text,
   * the reason, when the run cannot choose.
   */
  async nextCheck(id: string, ms: number): Promise<object | string> {
    const pacing = this.#jobs.find(id)?.job.pacing;
    if (!pacing) return "This job comes by its schedule: it has no pacing.";
    const isTaken = await this.#scheduler.nextCheck(id, ms);
    return isTaken ? { ok: true, nextCheckInMs: ms, pacing } : "No run of this job is active.";
  }

  async runs(filter: CronRunFilter): Promise<{ entries: readonly CronRunView[]; total: number }> {
    const { runs, total } = await this.#ports.journal.cron.runs(filter);
    return { entries: runs.map((run) => runView(run)), total };
  }

  async #declare(known: CronEntry, wish: Exclude<ReturnType<typeof readJob>, BadJob>): Promise<CronAdded> {
    return this.#jobs.exclusive(known.job.id, async (entry) => {
      const before = jobRevision(entry.job);
      const job = await this.#jobs.update(entry, wish);
      return { view: this.#announce(job.id, "updated"), created: false, updated: jobRevision(job) !== before };
    });
  }

  #announce(id: string, action: "added" | "updated"): CronJobView {
    this.#scheduler.tick();
    const view = this.get(id);
    if (!view) throw new Error(`the scheduled job ${id} is gone`);
    this.#ports.publish({ jobId: id, action, job: view });
    return view;
  }

  async #costOf(jobId: string): Promise<{ readonly costPerRunUsd?: number }> {
    const { runs } = await this.#ports.journal.cron.runs({ jobId, limit: 20, offset: 0 });
    const all = runs.length > 0 ? runs : (await this.#ports.journal.cron.runs({ limit: 50, offset: 0 })).runs;
    const costs = all.flatMap((run: CronRun) => (run.costUsd === undefined ? [] : [run.costUsd]));
    return costs.length === 0 ? {} : { costPerRunUsd: costs.reduce((sum, cost) => sum + cost, 0) / costs.length };
  }

  #reading() {
    const { timezone, webhook } = this.#ports.rules();
    return { now: this.#ports.clock.now(), timezone, webhook };
  }
}

const viewOf = ({ job, state, runsAtMs }: CronEntry): CronJobView => jobView(job, state, runsAtMs);

export interface CronAdded {
  readonly view: CronJobView;
  readonly created: boolean;
  readonly updated?: boolean;
}

/** Keeps the times of a job that is declared again at each start, unless the declaration sets an anchor. */
function withAnchor(wish: CronWish, { schedule: old }: CronJob, given: unknown): CronWish {
  const { schedule } = wish;
  const { schedule: said } = inWordsOfToday(asFields(given));
  const isSaid = isFields(said) && said["anchorMs"] !== undefined;
  if (isSaid || schedule.kind !== "every" || old.kind !== "every") return wish;
  return { ...wish, schedule: { ...schedule, anchorMs: old.anchorMs } };
}

/** Whether the time of a wish is over. A time that passed within the last minute is not: the call took a moment. */
const isPast = ({ schedule }: CronWish, now: number): boolean =>
  schedule.kind === "at" && Date.parse(schedule.at) < now - 60_000;

const asFields = (given: unknown): Fields => (typeof given === "object" && given !== null ? { ...given } : {});

function monthly({ job, times }: CronEntry, now: number): number {
  if (job.schedule.kind === "every") return Math.floor((DAYS_OF_A_MONTH * DAY_MS) / job.schedule.everyMs);
  let count = 0;
  const end = now + DAYS_OF_A_MONTH * DAY_MS;
  for (let at = times.next(now); at !== undefined && at <= end && count < MOST_COUNTED; at = times.next(at)) count += 1;
  return count;
}

const MOST_CHARS = 2000;
const cut = z
  .string()
  .transform((text) => text.slice(0, MOST_CHARS))
  .optional();
const { runAtMs, deliveryStatus, ...known } = cronRun.omit({
  errorReason: true,
  deliveryError: true,
  deliverySuppressionReason: true,
  webhookStatus: true,
  slotAtMs: true,
  usage: true,
  costUsd: true,
}).shape;

/** A record of another gateway, one line of its `runs/<jobId>.jsonl`. */
const givenRun = z.object({
  ...known,
  error: cut,
  summary: cut,
  runAtMs: runAtMs.optional(),
  deliveryStatus: deliveryStatus.optional(),
});

/** The record of a line; undefined when the line is no record. */
function readRun(given: unknown): CronRun | undefined {
  const { data } = givenRun.safeParse(given);
  if (!data) return undefined;
  const { runAtMs: at = data.ts, delivered, deliveryStatus: status = delivered ? "delivered" : "unknown" } = data;
  return { ...data, runAtMs: at, slotAtMs: at, deliveryStatus: status };
}
