import { randomBytes } from "node:crypto";
import type { CommandLine, ExecBackend, RunningCommand } from "../../types/run/backend.ts";
import type { Clock } from "../../types/clock.ts";
import { background } from "../../utils/background.ts";
import { within } from "../../utils/within.ts";
import { BackgroundProcess, type BackgroundCommand } from "./background-process.ts";
import { maySee, type Starter } from "./starter.ts";

/** Most processes in the background at a time. */
const MOST_RUNNING = 64;
/** Most finished processes that are kept, and most characters of their output together. */
const MOST_FINISHED = 50;
const MOST_FINISHED_CHARS = 2_000_000;
/** Milliseconds in which all commands end when the gateway stops. */
const CLOSE_MS = 5000;

export interface ProcessesPorts {
  readonly clock: Clock;
  /** Called with each process that ended by itself, if its settings ask for a notice. */
  exited(process: BackgroundProcess): void;
}

/**
 * The commands that this gateway has started and that have not ended, and the ones that ended in the background; in
 * memory only.
 */
export class Processes {
  readonly #ports: ProcessesPorts;
  readonly #alive = new Set<RunningCommand>();
  readonly #background = new Map<string, BackgroundProcess>();
  /** Cancel functions of the timers that remove finished processes. */
  readonly #timers = new Map<string, () => void>();
  #isClosed = false;

  constructor(ports: ProcessesPorts) {
    this.#ports = ports;
  }

  /** Starts a command that ends with the gateway. Rejects when the gateway stops. */
  async start(backend: ExecBackend, line: CommandLine): Promise<RunningCommand> {
    if (this.#isClosed) throw new Error("The gateway stops; the command was not run.");
    const running = await backend.start(line);
    this.#alive.add(running);
    background("end of a command", this.#forgetEnded(running));
    if (this.#isClosed) running.end("abort");
    return running;
  }

  /** Keeps a command running in the background. Never throws: callers check `full` before. */
  add(of: BackgroundCommand): BackgroundProcess {
    const one = new BackgroundProcess(this.#freeId(), of);
    this.#background.set(one.id, one);
    background("end of a background command", this.#follow(one));
    return one;
  }

  async #forgetEnded(running: RunningCommand): Promise<void> {
    await running.ended;
    this.#alive.delete(running);
  }

  async #follow(one: BackgroundProcess): Promise<void> {
    const { running, settings } = one.of;
    one.finish(await running.ended, this.#ports.clock);
    if (this.#isClosed || !this.#background.has(one.id)) return;
    this.#timers.set(
      one.id,
      this.#ports.clock.after(settings.keptMs, () => this.remove(one)),
    );
    this.#prune();
    if (this.#isNews(one)) this.#ports.exited(one);
  }

  /** Reason why no further command can go into the background; undefined when one can. */
  get full(): string | undefined {
    const running = [...this.#background.values()].filter((one) => one.endedAt === undefined);
    return running.length < MOST_RUNNING
      ? undefined
      : `${MOST_RUNNING} commands run in the background already; end some of them with process (kill).`;
  }

  /** The processes in the background, of every starter. */
  all(): readonly BackgroundProcess[] {
    return [...this.#background.values()];
  }

  /** The processes that a viewer may see, the newest first. */
  list(viewer: Starter): readonly BackgroundProcess[] {
    return [...this.#background.values()].filter(({ of }) => maySee(viewer, of.starter)).toReversed();
  }

  find(id: string, viewer: Starter): BackgroundProcess | undefined {
    const found = this.#background.get(id);
    return found && maySee(viewer, found.of.starter) ? found : undefined;
  }

  /** Forgets a process, which should have ended. */
  remove({ id }: BackgroundProcess): void {
    this.#background.delete(id);
    this.#timers.get(id)?.();
    this.#timers.delete(id);
  }

  /** Ends every command, also those that a call still waits for, without notices. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const cancel of this.#timers.values()) cancel();
    const alive = [...this.#alive];
    for (const one of alive) one.end("abort");
    await within(Promise.all(alive.map(({ ended }) => ended)), CLOSE_MS, this.#ports.clock);
  }

  #isNews(one: BackgroundProcess): boolean {
    const { settings, starter, running } = one.of;
    if (one.status === "killed" || one.isPolled) return false;
    if (!settings.notifyOnExit || starter.isSubagent) return false;
    return one.status !== "completed" || running.output.size > 0 || settings.notifyOnExitEmptySuccess;
  }

  #prune(): void {
    const finished = [...this.#background.values()].filter(({ endedAt }) => endedAt !== undefined);
    const oldestLast = finished.toSorted((a, b) => (b.endedAt ?? 0) - (a.endedAt ?? 0));
    let chars = 0;
    oldestLast.forEach((one, index) => {
      chars += one.of.running.output.text().length;
      // The newest process always stays.
      if (index > 0 && (index >= MOST_FINISHED || chars > MOST_FINISHED_CHARS)) this.remove(one);
    });
  }

  #freeId(): string {
    for (;;) {
      const id = randomBytes(4).toString("hex");
      if (!this.#background.has(id)) return id;
    }
  }
}
