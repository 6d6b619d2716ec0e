import { setTimeout as delay } from "node:timers/promises";
import type { CommandEnd, RunningCommand, Typist } from "../../types/run/backend.ts";
import type { Clock } from "../../types/clock.ts";
import type { RunId } from "../../types/ids.ts";
import type { BackgroundSettings } from "../../types/settings.ts";
import { Secret } from "../../utils/secrets/secret.ts";
import type { Boundary } from "../exec/contained.ts";
import type { Starter } from "./starter.ts";

/** A command that runs in the background. */
export interface BackgroundCommand {
  readonly command: string;
  readonly cwd: string;
  /** Epoch milliseconds of the command's start. */
  readonly startedAt: number;
  /** Time limit in milliseconds; 0 for none. */
  readonly timeoutMs: number;
  readonly running: RunningCommand;
  readonly starter: Starter;
  /** The run that started the command. */
  readonly runId?: RunId;
  readonly settings: BackgroundSettings;
  /** True when the command left the sandbox, so that its input counts as a command outside of the sandbox. */
  readonly isElevated?: boolean;
  /** The sandbox of the command, or the machine. */
  readonly backend: Boundary;
}

export type ProcessStatus = "running" | "completed" | "failed" | "killed";

/** Characters of new output that wait for a poll, for each stream. */
const PENDING_CHARS = 30_000;
/** Milliseconds without output after which a process may be waiting for input. */
const IDLE_MS = 15_000;
/** Milliseconds until the next poll makes sense, by the number of polls without news. */
const RETRY_MS = [5000, 10_000, 30_000, 60_000] as const;
const TAIL_CHARS = 400;
const NAME_CHARS = 60;

/** The new output of a process, for a poll. */
export interface NewOutput {
  readonly text: string;
  /** Characters of new output that are left out because there were too many. */
  readonly skipped: number;
}

/** A process in the background, with the place up to which its output was read. */
export class BackgroundProcess {
  readonly id: string;
  readonly of: BackgroundCommand;
  /** Epoch milliseconds; undefined while the process runs. */
  endedAt: number | undefined;
  #end: CommandEnd | undefined;
  #seen = 0;
  #emptyPolls = 0;
  #pollers = 0;
  #isKilled = false;
  #isInputOpen: boolean;

  constructor(id: string, of: BackgroundCommand) {
    this.id = id;
    this.of = of;
    this.#isInputOpen = of.running.input !== "none";
  }

  /** The first line of the process's command, shortened and without secrets. */
  get name(): string {
    const [line = ""] = Secret.mask(this.of.command.trim()).split("\n");
    return line.length > NAME_CHARS ? `${line.slice(0, NAME_CHARS).toWellFormed()}…` : line;
  }

  get status(): ProcessStatus {
    if (this.#isKilled) return "killed";
    if (this.#end === undefined) return "running";
    return this.#end.because === "exit" && this.#end.code === 0 ? "completed" : "failed";
  }

  get end(): CommandEnd | undefined {
    return this.#end;
  }

  get isInputOpen(): boolean {
    return this.#isInputOpen && this.#end === undefined && !this.#isKilled;
  }

  /** True while a poll waits, so that the model gets the end without a notice. */
  get isPolled(): boolean {
    return this.#pollers > 0;
  }

  isWaiting(now: number): boolean {
    return this.isInputOpen && now - this.of.running.output.lastAt >= IDLE_MS;
  }

  /** The last characters of the process's output. */
  tail(): string {
    return this.of.running.output.text().trimEnd().slice(-TAIL_CHARS).toWellFormed();
  }

  /** The output since the last call. */
  drain(): NewOutput {
    const { output, input } = this.of.running;
    const isNew = output.size > this.#seen;
    this.#emptyPolls = isNew ? 0 : this.#emptyPolls + 1;
    const fresh = output.size - this.#seen;
    this.#seen = output.size;
    if (!isNew) return { text: "", skipped: 0 };
    const most = Math.min(fresh, input === "terminal" ? PENDING_CHARS : 2 * PENDING_CHARS);
    const text = output.text().slice(-most);
    return { text: text.toWellFormed(), skipped: fresh - text.length };
  }

  /** Milliseconds until another poll makes sense. */
  get retryInMs(): number {
    return RETRY_MS[Math.min(Math.max(0, this.#emptyPolls - 1), RETRY_MS.length - 1)] ?? RETRY_MS[0];
  }

  /** Resolves when there is output that no poll has returned, when the process has ended, or when the signal aborts. */
  async news(signal: AbortSignal): Promise<void> {
    const { output, ended } = this.of.running;
    if (output.size > this.#seen || this.status !== "running") return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const unwatch = output.watch(resolve);
    const stop = () => resolve();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    this.#pollers += 1;
    try {
      await Promise.race([promise, ended]);
    } finally {
      this.#pollers -= 1;
      signal.removeEventListener("abort", stop);
      unwatch();
    }
  }

  /** Writes to the process. Rejects with a text for the model when the process does not take the input. */
  async give(
    { bytes, ends }: { readonly bytes: Uint8Array; readonly ends: boolean },
    { signal, typist }: { readonly signal: AbortSignal; readonly typist: Typist },
  ): Promise<void> {
    const { running } = this.of;
    if (bytes.length > 0 && !(await taken(running.write(bytes, typist), signal))) throw new Error(NOT_READ);
    if (!ends) return;
    await running.closeInput();
    this.#isInputOpen &&= running.input === "terminal";
  }

  /** Ends the process with everything that it started. Resolves when all have ended. */
  async kill(): Promise<void> {
    this.#isKilled ||= this.#end === undefined;
    this.of.running.end("abort");
    await this.of.running.ended;
  }

  /** Called once, when the process has ended. */
  finish(end: CommandEnd, clock: Pick<Clock, "now">): void {
    this.#end = end;
    this.endedAt = clock.now();
  }
}

/** Milliseconds in which a process should read its input. */
const READ_MS = 5000;

const NOT_READ = "It has not read all of this input yet; what is left waits for it.";

async function taken(work: Promise<void>, signal: AbortSignal): Promise<boolean> {
  const waiting = new AbortController();
  const late = delay(READ_MS, false, { signal: AbortSignal.any([signal, waiting.signal]) }).catch(() => false);
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    waiting.abort();
  }
}
