import type { Io } from "../io.ts";
import { cleanText } from "../terminal-text.ts";
import { startProgress } from "../progress.ts";

/** Prints an answer: as it grows for a person at a terminal, else once it is whole. Shows that it waits until then. */
export class Printer {
  readonly #io: Io;
  readonly #isLive: boolean;
  readonly #progress: { stop(): void };
  #printed = "";

  constructor(io: Io, isLive: boolean) {
    this.#io = io;
    this.#isLive = isLive;
    this.#progress = startProgress(io, "Waiting for the answer");
  }

  /** Text that follows what was printed. */
  add(delta: string): void {
    if (!this.#isLive) return;
    this.#progress.stop();
    this.#printed += delta;
    this.#io.out(cleanText(delta));
  }

  /** Another message of the same run begins. */
  part(): void {
    if (this.#printed !== "") this.add("\n\n");
  }

  /** A line beside the answer. */
  note(line: string): void {
    this.#progress.stop();
    this.#io.err(`${cleanText(line)}\n`);
  }

  /** Ends the waiting sign; called again without harm. */
  stop(): void {
    this.#progress.stop();
  }

  /** Prints what of the whole text is not there yet. */
  finish(whole: string): void {
    this.stop();
    const rest = whole.startsWith(this.#printed) ? whole.slice(this.#printed.length) : `\n\n${whole}`;
    if (whole !== "" || this.#printed !== "") this.#io.out(`${this.#isLive ? cleanText(rest) : rest}\n`);
  }
}
