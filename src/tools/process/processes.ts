import { randomBytes } from "node:crypto";
import type { CommandLine, ExecBackend, RunningCommand } from "../../types/run/backend.ts";
import type { Clock } from "../../types/clock.ts";
import { background } from "../../utils/background.ts";
import { within } from "../../utils/within.ts";
import { BackgroundProcess, type BackgroundCommand } from "./background-process.ts";
import { maySee, type Starter } from "./starter.ts";

/** Most processes in the background at a time. */
const MOST_RUNNING = 64;
/** Most finished ones that are kept, and the characters of their output together. */
const MOST_FINISHED = 50;
const MOST_FINISHED_CHARS = 2_000_000;
/** Milliseconds in which everything ends when the gateway stops. */
const CLOSE_MS = 5000;

export interface ProcessesPorts {
  readonly clock: Clock;
  /** Is told of each process that ended by itself and that somebody should hear of. */
  exited(process: BackgroundProcess): void;
}

/** The commands that this gateway has started and that have not ended, and those that ended in the background. Only memory. */
export class Processes {
  readonly #ports: ProcessesPorts;
  readonly #alive = new Set<RunningCommand>();
  readonly #background = new Map<string, BackgroundProcess>();
  /** End the time for which finished ones are kept. */
  readonly #timers = new Map<string, () => void>();
  #isClosed = false;

  constructor(ports: ProcessesPorts) {
    this.#ports = ports;
  }

  /** Starts a command that is ended with the gateway. */
  async start(backend: ExecBackend, line: CommandLine): Promise<RunningCommand> {
    if (this.#isClosed) throw new Error("The gateway stops; the command was not run.");
    const running = await backend.start(line);
    this.#alive.add(running);
    background("end of a command", this.#forgetEnded(running));
    if (this.#isClosed) running.end("abort");
    return running;
  }

  /** Keeps a command running in the background. Throws when there are too many. */
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

  /** Why no further command can go into the background; undefined when one can. */
  get full(): string | undefined {
    const running = [...this.#background.values()].filter((one) => one.endedAt === undefined);
    return running.length < MOST_RUNNING
      ? undefined
      : `${MOST_RUNNING} commands run in the background already; end some of them with process (kill).`;
  }

  /** The processes in the background, whoever started them. */
  all(): readonly BackgroundProcess[] {
    return [...this.#background.values()];
  }

  /** The processes that somebody may see, the newest first. */
  list(viewer: Starter): readonly BackgroundProcess[] {
    return [...this.#background.values()].filter(({ of }) => maySee(viewer, of.starter)).toReversed();
  }

  find(id: string, viewer: Starter): BackgroundProcess | undefined {
    const found = this.#background.get(id);
    return found && maySee(viewer, found.of.starter) ? found : undefined;
  }

  /** Forgets a process. It should have ended. */
  remove({ id }: BackgroundProcess): void {
    this.#background.delete(id);
    this.#timers.get(id)?.();
    this.#timers.delete(id);
  }

  /** Ends every command, also those that somebody still waits for. Nobody is told of these ends. Never rejects. */
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
      // The newest stays in any case.
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
