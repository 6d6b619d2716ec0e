import type { Clock } from "../../../types/clock.ts";
import type { CronStream } from "../../../types/cron/job.ts";

/** UTF-16 units of a line that has not ended yet; the rest of a longer line is left out. */
const MOST_LINE = 64 * 1024;
const CUT = "[truncated]";

/** Makes batches of the lines that a command writes: lines in short succession are one batch. */
export class LineBatches {
  readonly #schedule: Pick<CronStream, "mode" | "match" | "batchMs" | "maxBatchBytes">;
  readonly #clock: Pick<Clock, "after">;
  readonly #closed: (batch: string) => void;
  readonly #pattern: RegExp | undefined;
  #line = "";
  #batch = "";
  #cancel: () => void = () => undefined;

  /** `closed` is called with each batch. */
  constructor(
    schedule: Pick<CronStream, "mode" | "match" | "batchMs" | "maxBatchBytes">,
    clock: Pick<Clock, "after">,
    closed: (batch: string) => void,
  ) {
    this.#schedule = schedule;
    this.#clock = clock;
    this.#closed = closed;
    this.#pattern = schedule.mode === "match" ? new RegExp(schedule.match ?? "", "u") : undefined;
  }

  take(text: string): void {
    const lines = (this.#line + text).split("\n");
    this.#line = (lines.pop() ?? "").slice(0, MOST_LINE);
    for (const line of lines) this.#add(line.replace(/\r$/, ""));
  }

  /** Called when the command has ended: closes the last batch. */
  end(): void {
    this.#add(this.#line);
    this.#line = "";
    this.#close();
  }

  /** Drops the batch that is not closed yet. */
  stop(): void {
    this.#cancel();
    this.#batch = "";
  }

  #add(line: string): void {
    if (line.trim() === "" || this.#pattern?.test(line) === false) return;
    const { maxBatchBytes, batchMs } = this.#schedule;
    this.#batch = joinedOutput(this.#batch, line, maxBatchBytes);
    if (this.#batch.endsWith(CUT)) return this.#close();
    this.#cancel();
    this.#cancel = this.#clock.after(batchMs, () => this.#close());
  }

  #close(): void {
    this.#cancel();
    const batch = this.#batch;
    this.#batch = "";
    if (batch !== "") this.#closed(batch);
  }
}

/** Two texts as one of at most `mostBytes` bytes, with a mark when it was cut. */
export function joinedOutput(before: string, text: string, mostBytes: number): string {
  if (before.endsWith(CUT)) return before;
  const all = before === "" ? text : `${before}\n${text}`;
  const bytes = Buffer.from(all);
  if (bytes.length <= mostBytes) return all;
  let end = mostBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return `${bytes.subarray(0, end).toString()}\n${CUT}`;
}
