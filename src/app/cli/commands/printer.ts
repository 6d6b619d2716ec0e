import { cleanText, type Io } from "../io.ts";

/** Prints text as it grows, and in the end what was not printed yet. */
export class Printer {
  readonly #io: Io;
  readonly #isLive: boolean;
  #printed = "";

  constructor(io: Io, isLive: boolean) {
    this.#io = io;
    this.#isLive = isLive;
  }

  get hasPrinted(): boolean {
    return this.#printed !== "";
  }

  add(delta: string): void {
    if (!this.#isLive) return;
    this.#printed += delta;
    this.#io.out(cleanText(delta));
  }

  /** Another message of the same run begins. */
  part(): void {
    if (this.hasPrinted) this.add("\n\n");
  }

  finish(whole: string): void {
    const isSame = whole.startsWith(this.#printed);
    const rest = isSame ? whole.slice(this.#printed.length) : `\n\n${whole}`;
    if (whole !== "" || this.hasPrinted) this.#io.out(`${this.#isLive ? cleanText(rest) : rest}\n`);
  }
}
