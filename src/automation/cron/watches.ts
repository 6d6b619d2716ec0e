import type { Clock } from "../../types/clock.ts";
import type { CronJob } from "../../types/cron/job.ts";
import type { Log } from "../../types/log.ts";
import { errorText } from "../../utils/text/error-text.ts";
import type { CronEntry } from "./jobs.ts";
import { JobWatch, type WatchPorts } from "./watch/watch.ts";

interface Ports {
  readonly clock: Clock;
  readonly log: Log;
  start: WatchPorts["start"];
  fire(job: CronJob, event: string): Promise<boolean>;
  failed(job: CronJob, why: string, isLast: boolean): Promise<void>;
}

/** The commands of all jobs that begin by the output or end of a command. */
export class Watches {
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
