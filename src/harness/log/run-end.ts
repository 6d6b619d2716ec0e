import type { RunEventBody } from "../../types/run/events.ts";
import type { Receipt, RunResult } from "../../types/run/run.ts";

/** The summary of an ended run that is recorded. */
export interface RunEnd {
  readonly receipt: Receipt;
  readonly result: RunResult;
  /** Tokens of the last model call, the conversation's part of the window; undefined when no call succeeded. */
  readonly filled: number | undefined;
  /** Tokens of the last model's window; undefined when no model was asked. */
  readonly window: number | undefined;
  /** The number of compactions that were needed on the way. */
  readonly compactions: number;
  /** Notices that another model answers, or that it was not shown an image. */
  readonly changes: readonly string[];
  /** The model's texts, message by message. */
  readonly texts: readonly string[];
}

/** Collects the summary while events arrive, so that no caller has to read the events again. */
export class RunSummary {
  /** The summary; undefined until the run has ended. */
  end: RunEnd | undefined;
  #filled: number | undefined;
  #window: number | undefined;
  #compactions = 0;
  readonly #changes: string[] = [];
  readonly #texts: string[] = [];

  take(event: RunEventBody): void {
    if (event.type === "usage" && event.usage.totalTokens > 0) this.#filled = event.usage.totalTokens;
    if (event.type === "attempt_start") this.#window = event.window;
    if (event.type === "compaction" && event.phase === "end" && event.ok) this.#compactions += 1;
    if (event.type === "message_end") this.#texts.push(event.text);
    if (event.type === "model_change") this.#changes.push(event.text);
    if (event.type === "notice" && event.because === "image") this.#changes.push(event.text);
    if (event.type === "run_end") this.end = this.#endOf(event);
  }

  #endOf({ receipt, result }: { readonly receipt: Receipt; readonly result: RunResult }): RunEnd {
    const [filled, window, compactions] = [this.#filled, this.#window, this.#compactions];
    return { receipt, result, filled, window, compactions, changes: this.#changes, texts: this.#texts };
  }
}
