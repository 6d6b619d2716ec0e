import type { Run } from "../harness/run.ts";
import type { Outcome } from "../types/journal.ts";
import type { Receipt, RunResult } from "../types/run.ts";

/** What a run leaves to be written down. */
export interface RunEnd {
  readonly receipt: Receipt;
  readonly result: RunResult;
  /** Tokens of the last model call, which is what the conversation fills of the window; undefined when none came through. */
  readonly filled: number | undefined;
  /** Tokens of the last model's window; undefined when no model was asked. */
  readonly window: number | undefined;
  /** Compactions that were needed on the way. */
  readonly compactions: number;
  /** What is to be said about another model answering. */
  readonly changes: readonly string[];
  /** What the model said, message by message. */
  readonly texts: readonly string[];
}

/** Reads it from the run's log, once that has ended. */
export async function endOf(run: Run): Promise<RunEnd> {
  let filled: number | undefined;
  let window: number | undefined;
  let compactions = 0;
  const changes: string[] = [];
  const texts: string[] = [];
  for await (const event of run.stream.watch()) {
    if (event.type === "usage" && event.usage.totalTokens > 0) filled = event.usage.totalTokens;
    if (event.type === "attempt_start") ({ window } = event);
    if (event.type === "compaction" && event.phase === "end" && event.ok) compactions += 1;
    if (event.type === "message_end") texts.push(event.text);
    if (event.type === "model_change") changes.push(event.text);
    if (event.type !== "run_end") continue;
    return { receipt: event.receipt, result: event.result, filled, window, compactions, changes, texts };
  }
  throw new Error("a run's log ended without run_end");
}

/** The turn has no outcome yet: it continues when the disk takes writes again, or after the next start. */
export const isUnfinished = (result: RunResult): boolean =>
  result.kind === "aborted" && (result.by === "shutdown" || result.by === "disk");

/** What became of a message whose run ended so; `said` tells whether the chat got an answer. */
export function outcomeOf(result: RunResult, said: boolean): Outcome {
  if (result.kind === "failed") return { kind: "failed", why: `${result.failure.kind}: ${result.failure.message}` };
  if (result.kind === "aborted" && result.by === "timeout")
    return { kind: "failed", why: "timeout: the run took longer than it may" };
  if (result.kind === "aborted") return { kind: "aborted" };
  return said ? { kind: "replied" } : { kind: "silent" };
}
