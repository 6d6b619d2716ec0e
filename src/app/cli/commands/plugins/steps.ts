import { startProgress } from "../../progress.ts";
import type { Io } from "../../io.ts";

/** Shows the steps of a long work: a moving line on a terminal, else one line for each step. */
export class Steps {
  readonly #io: Io;
  #current: { stop(): void } | undefined;

  constructor(io: Io) {
    this.#io = io;
  }

  readonly begin = (label: string): void => {
    this.stop();
    if (!this.#io.isErrTerminal) this.#io.err(`${label}.\n`);
    this.#current = startProgress(this.#io, label);
  };

  stop(): void {
    this.#current?.stop();
    this.#current = undefined;
  }
}
