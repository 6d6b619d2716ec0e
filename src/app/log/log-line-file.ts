import { closeSync, fstatSync, fsyncSync, write, writeSync } from "node:fs";

/** Most bytes that may wait for a slow or full disk. More is dropped. */
const MOST_WAITING = 16_777_216;
/** Milliseconds until a failed write is tried again. */
const RETRY_MS = 1000;
/** Most milliseconds for which `flush` waits for the current write. */
const FLUSH_MS = 1000;

/** The line that replaces dropped lines. */
export const droppedNote = (lines: number): string =>
  `${JSON.stringify({ level: "warn", time: new Date().toISOString(), lines, msg: "log lines dropped: they were not taken in time" })}\n`;

/**
 * Writes lines to an open file, in order and in the background, so that a slow disk does not block the gateway. Pending
 * lines are written when the process exits. A failed write is retried; no method throws.
 */
export class LogLineFile {
  readonly #fd: number;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** Bytes of the current write. */
  #underway: Buffer | undefined;
  #size: number;
  #dropped = 0;
  #isEnding = false;
  #isScheduled = false;
  #watchesExit = false;
  readonly #onExit = (): void => this.flush();

  constructor(fd: number) {
    this.#fd = fd;
    this.#size = fstatSync(fd).size;
  }

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#waitingBytes + bytes.length > MOST_WAITING) {
      this.#dropped += 1;
      return;
    }
    this.#push(bytes);
    this.#startSoon();
  }

  /** Writes all pending lines to the disk at once. Lines that cannot be written now are lost. */
  flush(): void {
    this.#awaitUnderway();
    const bytes = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#waitingBytes = 0;
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(this.#fd, bytes, at);
      this.#size += bytes.length;
      fsyncSync(this.#fd);
    } catch {
      // A full disk, or a file that cannot be synced: there is nowhere else for the lines.
    }
    this.#rest();
  }

  /** Closes the file after all lines are written. */
  end(): void {
    this.#isEnding = true;
    this.#start();
  }

  #push(bytes: Buffer): void {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#watchesExit) return;
    this.#watchesExit = true;
    process.once("exit", this.#onExit);
  }

  #start(): void {
    if (this.#underway || this.#waiting.length === 0) return this.#rest();
    const bytes = Buffer.concat(this.#waiting);
    this.#underway = bytes;
    this.#waiting = [];
    this.#waitingBytes = 0;
    write(this.#fd, bytes, 0, bytes.length, null, (error, written) => this.#written(bytes, error, written));
  }

  #written(bytes: Buffer, error: Error | null, written: number): void {
    this.#underway = undefined;
    if (error) return this.#tryLater(bytes);
    this.#size += written;
    if (written < bytes.length) this.#putBack(bytes.subarray(written));
    else if (this.#dropped > 0) {
      this.#push(Buffer.from(droppedNote(this.#dropped)));
      this.#dropped = 0;
    }
    this.#start();
  }

  #tryLater(bytes: Buffer): void {
    this.#putBack(bytes);
    this.#startSoon(RETRY_MS);
  }

  /** Lines that come in one turn of the event loop share a write, which passes through another thread. */
  #startSoon(ms = 0): void {
    if (this.#underway || this.#isScheduled) return;
    this.#isScheduled = true;
    const start = () => {
      this.#isScheduled = false;
      this.#start();
    };
    setTimeout(start, ms).unref();
  }

  #putBack(bytes: Buffer): void {
    this.#waiting.unshift(bytes);
    this.#waitingBytes += bytes.length;
  }

  /** Once no write is pending, the process's exit needs no flush, and a file that is to end is closed. */
  #rest(): void {
    if (this.#underway || this.#waiting.length > 0) return;
    process.off("exit", this.#onExit);
    this.#watchesExit = false;
    if (!this.#isEnding) return;
    this.#isEnding = false;
    closeSync(this.#fd);
  }

  /** The end of a write is reported only in a later turn of the event loop; the size of the file shows it at once. */
  #awaitUnderway(): void {
    if (!this.#underway) return;
    const cell = new Int32Array(new SharedArrayBuffer(4));
    const goal = this.#size + this.#underway.length;
    const until = Date.now() + FLUSH_MS;
    while (fstatSync(this.#fd).size < goal && Date.now() < until) Atomics.wait(cell, 0, 0, 1);
  }
}
