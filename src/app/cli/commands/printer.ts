import type { Io } from "../io.ts";
import { withoutTerminalControls } from "../terminal-text.ts";
import { startProgress } from "../progress.ts";

/** Prints an answer: on a terminal while it is written, else when it is complete. Shows a progress line before. */
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
    this.#io.out(withoutTerminalControls(delta));
  }

  /** Another message of the same run begins. */
  part(): void {
    if (this.#printed !== "") this.add("\n\n");
  }

  /** A line in addition to the answer. */
  note(line: string): void {
    this.#progress.stop();
    this.#io.err(`${withoutTerminalControls(line)}\n`);
  }

  /** Removes the progress line; may be called several times. */
  stop(): void {
    this.#progress.stop();
  }

  /** Prints the part of the text that was not printed yet. */
  finish(whole: string): void {
    this.stop();
    const rest = whole.startsWith(this.#printed) ? whole.slice(this.#printed.length) : `\n\n${whole}`;
    if (whole !== "" || this.#printed !== "") this.#io.out(`${this.#isLive ? withoutTerminalControls(rest) : rest}\n`);
  }
}
