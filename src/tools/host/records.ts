/** Most bytes of one record; no wanted record is longer. */
const MAX_RECORD = 64 * 1024;

/** Splits a program's output into records, with at most one in memory. */
export class RecordSplitter {
  readonly #separator: number;
  readonly #take: (record: string) => boolean;
  #pending: Buffer[] = [];
  #bytes = 0;
  #hasEnough = false;
  #isTooLong = false;

  /** `take` returns false when it wants no more. */
  constructor(separator: "\n" | "\0", take: (record: string) => boolean) {
    this.#separator = separator.charCodeAt(0);
    this.#take = take;
  }

  /** False when no more is needed: `take` had enough, or a record is longer than 64 KB. */
  push(chunk: Buffer): boolean {
    let start = 0;
    while (!this.#hasEnough && !this.#isTooLong) {
      const end = chunk.indexOf(this.#separator, start);
      this.#add(chunk.subarray(start, end < 0 ? chunk.length : end));
      if (end < 0) break;
      this.#emit();
      start = end + 1;
    }
    return !this.#hasEnough && !this.#isTooLong;
  }

  /** Passes on a last record without a separator; true when `take` had enough. Throws for a record of more than 64 KB. */
  finish(): boolean {
    if (this.#isTooLong) throw new Error("The search found a line that is too long to show; narrow the search.");
    if (this.#bytes > 0 && !this.#hasEnough) this.#emit();
    return this.#hasEnough;
  }

  #add(piece: Buffer): void {
    this.#bytes += piece.length;
    this.#isTooLong = this.#bytes > MAX_RECORD;
    if (!this.#isTooLong) this.#pending.push(piece);
  }

  #emit(): void {
    if (this.#isTooLong) return;
    const record = Buffer.concat(this.#pending).toString();
    this.#pending = [];
    this.#bytes = 0;
    this.#hasEnough = !this.#take(record);
  }
}
