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
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** 0 for no limit. */
  readonly timeoutMs: number;
  readonly running: RunningCommand;
  readonly starter: Starter;
  /** The run that started it. */
  readonly runId?: RunId;
  readonly settings: BackgroundSettings;
  /** It left the sandbox, so what is written to it counts as a command outside of the sandbox. */
  readonly isElevated?: boolean;
  /** Where it runs. */
  readonly backend: Boundary;
}

export type ProcessStatus = "running" | "completed" | "failed" | "killed";

/** Characters of new output that wait for a poll, of each stream. */
const PENDING_CHARS = 30_000;
/** After this time without output a process may be waiting for input. */
const IDLE_MS = 15_000;
/** When the next poll makes sense, after so many polls without news. */
const RETRY_MS = [5000, 10_000, 30_000, 60_000] as const;
const TAIL_CHARS = 400;
const NAME_CHARS = 60;

/** What a poll gives. */
export interface Drained {
  readonly text: string;
  /** Characters that came since the last poll and are left out because there were too many. */
  readonly skipped: number;
}

/** A process in the background, with what of its output was read already. */
export class BackgroundProcess {
  readonly id: string;
  readonly of: BackgroundCommand;
  /** Epoch milliseconds. */
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

  /** The first words of its command. */
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

  /** A poll is waiting, so the model hears of the end without being told. */
  get isPolled(): boolean {
    return this.#pollers > 0;
  }

  isWaiting(now: number): boolean {
    return this.isInputOpen && now - this.of.running.output.lastAt >= IDLE_MS;
  }

  /** The end of its output. */
  tail(): string {
    return this.of.running.output.text().trimEnd().slice(-TAIL_CHARS).toWellFormed();
  }

  /** The output since the last call. */
  drain(): Drained {
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

  /** Resolves when there is output that no poll has given, when the process has ended, or when the signal aborts. */
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

  /** Writes to it. Rejects with a text for the model when it does not take the input. */
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

  /** Ends it with everything that it started. Resolves when that is done. */
  async kill(): Promise<void> {
    this.#isKilled ||= this.#end === undefined;
    this.of.running.end("abort");
    await this.of.running.ended;
  }

  /** Called once. */
  finish(end: CommandEnd, clock: Pick<Clock, "now">): void {
    this.#end = end;
    this.endedAt = clock.now();
  }
}

/** Milliseconds in which a process should read what it is given. */
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
