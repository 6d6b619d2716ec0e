import type { CronJob } from "../../../types/cron/job.ts";
import type { Clock } from "../../../types/clock.ts";
import type { Log } from "../../../types/log.ts";
import { background } from "../../../utils/background.ts";
import { pause } from "../../../utils/pause.ts";
import { joined, LineBatches } from "./batches.ts";

/** A command that a job watches. */
export interface WatchedCommand {
  /** Resolves when it has written something, when it has ended, or when the signal aborts. */
  news(signal: AbortSignal): Promise<void>;
  /** What it has written since the last call. */
  take(): string;
  /** How it ended, as a sentence, with the end of its output; undefined while it runs. */
  readonly ended: string | undefined;
  /** Ends it. Resolves when it has ended. */
  stop(): Promise<void>;
}

/** What the watch of one job calls. */
export interface WatchPorts {
  readonly clock: Clock;
  readonly log: Pick<Log, "error">;
  /** Starts the command of a job. A text is the reason why it may not run. */
  start(job: CronJob): Promise<WatchedCommand | string>;
  /** Begins the job with this text. False when it cannot begin now. */
  fire(event: string): Promise<boolean>;
  /** The command could not be started, or ended too soon. `isLast`: it is not started again. */
  failed(why: string, isLast: boolean): Promise<void>;
}

/** A job is not begun more often. */
const LEAST_GAP_MS = 30_000;
/** A command that ends sooner has failed. */
const SHORT_MS = 60_000;
/** After so many failures in a row it is not started again. */
const MOST_SHORT = 5;
/** Milliseconds before it is started again, by failures in a row. */
const PAUSES_MS = [30_000, 30_000, 60_000, 5 * 60_000, 15 * 60_000];

/** Runs the command of one job and begins the job for what it does, until it is stopped. */
export class Watch {
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

  /** Runs the command. `isShort`: it was refused, or ended too soon. */
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

  /** The job begins at the end of its command. */
  get #isOnce(): boolean {
    return this.#job.schedule.kind === "on-exit";
  }

  /** Tries again what could not begin. */
  poke(): void {
    if (this.#pending === "" || this.#isFiring || this.#isStopped) return;
    this.#cancel();
    const waitMs = this.#lastAt + LEAST_GAP_MS - this.#ports.clock.now();
    if (waitMs > 0) this.#cancel = this.#ports.clock.after(waitMs, () => this.poke());
    else background("the begin of a job that watches a command", this.#fire(), this.#ports.log);
  }

  /** Ends the command; what waits is dropped. */
  stop(): void {
    this.#stopping.abort();
    this.#cancel();
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** How the command ended. */
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
    this.#pending = joined(this.#pending, event, schedule.kind === "stream" ? schedule.maxBatchBytes : Infinity);
    this.poke();
  }

  async #fire(): Promise<void> {
    const event = this.#pending;
    this.#pending = "";
    this.#isFiring = true;
    // A full disk, for instance: the next poke tries again.
    const isBegun = await this.#ports.fire(event).catch((error: unknown) => {
      this.#ports.log.error("a job that watches a command could not begin", { job: this.#job.id, error });
      return false;
    });
    this.#isFiring = false;
    if (isBegun) this.#lastAt = this.#ports.clock.now();
    else this.#pending = this.#pending === "" ? event : joined(event, this.#pending, Infinity);
    if (isBegun) this.poke();
  }
}
