import type { CronJob } from "../../../types/cron/job.ts";
import type { Clock } from "../../../types/clock.ts";
import type { Log } from "../../../types/log.ts";
import { background } from "../../../utils/background.ts";
import { pause } from "../../../utils/pause.ts";
import { joinedOutput, LineBatches } from "./batches.ts";

/** A command that a job watches. */
export interface WatchedCommand {
  /** Resolves when the command has written something, when it has ended, or when the signal aborts. */
  news(signal: AbortSignal): Promise<void>;
  /** Output of the command since the last call. */
  take(): string;
  /** The end of the command, as a sentence, with the last lines of its output; undefined while the command runs. */
  readonly ended: string | undefined;
  /** Ends the command. Resolves when it has ended. */
  stop(): Promise<void>;
}

/** Ports of the watch of one job. */
export interface WatchPorts {
  readonly clock: Clock;
  readonly log: Pick<Log, "error">;
  /** Starts the command of a job. Resolves with a text, the reason, when the command may not run. */
  start(job: CronJob): Promise<WatchedCommand | string>;
  /** Begins the job with this text. False when the job cannot begin now. */
  fire(event: string): Promise<boolean>;
  /** Called when the command could not be started, or ended too soon. `isLast`: the command is not started again. */
  failed(why: string, isLast: boolean): Promise<void>;
}

/** Least milliseconds from one start of a job to the next. */
const LEAST_GAP_MS = 30_000;
/** Milliseconds: a command that ends sooner has failed. */
const SHORT_MS = 60_000;
/** Failures in a row after which the command is not started again. */
const MOST_SHORT = 5;
/** Milliseconds before the command is started again, by failures in a row. */
const PAUSES_MS = [30_000, 30_000, 60_000, 5 * 60_000, 15 * 60_000];

/** Runs the command of one job, and begins the job for the command's output or end, until the watch is stopped. */
export class JobWatch {
  readonly #job: CronJob;
  readonly #ports: WatchPorts;
  readonly #stopping = new AbortController();
  #pending = "";
  #isFiring = false;
  #lastAt = -Infinity;
  #cancel: () => void = () => undefined;

  constructor(job: CronJob, ports: WatchPorts) {
    this.#job = job;
    this.#ports = ports;
  }

  /** Resolves when the job needs no command any more, or after `stop`. */
  async run(): Promise<void> {
    for (let failures = 0; !this.#isStopped;) {
      const { how, isShort } = await this.#once();
      if (this.#isStopped) return;
      failures = isShort ? failures + 1 : 0;
      if (await this.#isOver(how, failures)) return;
      await pause(PAUSES_MS[failures] ?? LEAST_GAP_MS, { clock: this.#ports.clock, signal: this.#stopping.signal });
    }
  }

  /** Runs the command. `isShort`: the command was refused, or ended too soon. */
  async #once(): Promise<{ readonly how: string; readonly isShort: boolean }> {
    const startedAt = this.#ports.clock.now();
    const command = await this.#ports.start(this.#job);
    if (typeof command === "string") return { how: command, isShort: true };
    const how = await this.#follow(command);
    if (!this.#isOnce) return { how, isShort: this.#ports.clock.now() - startedAt < SHORT_MS };
    if (!this.#isStopped) this.#add(how);
    return { how, isShort: false };
  }

  async #isOver(how: string, failures: number): Promise<boolean> {
    if (failures === 0) return this.#isOnce;
    const isLast = this.#isOnce || failures >= MOST_SHORT;
    await this.#ports.failed(how, isLast);
    return isLast;
  }

  /** True when the job begins at the end of its command. */
  get #isOnce(): boolean {
    return this.#job.schedule.kind === "on-exit";
  }

  /** Begins the job for events that wait. Called when the job may begin again. */
  poke(): void {
    if (this.#pending === "" || this.#isFiring || this.#isStopped) return;
    this.#cancel();
    const waitMs = this.#lastAt + LEAST_GAP_MS - this.#ports.clock.now();
    if (waitMs > 0) this.#cancel = this.#ports.clock.after(waitMs, () => this.poke());
    else background("the begin of a job that watches a command", this.#fire(), this.#ports.log);
  }

  /** Ends the command, and drops waiting events. */
  stop(): void {
    this.#stopping.abort();
    this.#cancel();
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** Follows a command until it ends, and returns its end as a sentence. */
  async #follow(command: WatchedCommand): Promise<string> {
    const { signal } = this.#stopping;
    const { schedule } = this.#job;
    const batches =
      schedule.kind === "stream"
        ? new LineBatches(schedule, this.#ports.clock, (batch) => this.#add(batch))
        : undefined;
    while (!signal.aborted && command.ended === undefined) {
      await command.news(signal);
      const text = command.take();
      batches?.take(text);
    }
    if (signal.aborted) batches?.stop();
    else batches?.end();
    if (command.ended === undefined) await command.stop();
    return command.ended ?? "It was ended.";
  }

  #add(event: string): void {
    const { schedule } = this.#job;
    this.#pending = joinedOutput(this.#pending, event, schedule.kind === "stream" ? schedule.maxBatchBytes : Infinity);
    this.poke();
  }

  async #fire(): Promise<void> {
    const event = this.#pending;
    this.#pending = "";
    this.#isFiring = true;
    // A full disk, for instance: the next `poke` tries again.
    const isBegun = await this.#ports.fire(event).catch((error: unknown) => {
      this.#ports.log.error("a job that watches a command could not begin", { job: this.#job.id, error });
      return false;
    });
    this.#isFiring = false;
    if (isBegun) this.#lastAt = this.#ports.clock.now();
    else this.#pending = this.#pending === "" ? event : joinedOutput(event, this.#pending, Infinity);
    if (isBegun) this.poke();
  }
}
