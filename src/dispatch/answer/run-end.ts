import { parseDirectives } from "../../reply/directives.ts";
import type { Run } from "../../harness/run.ts";
import type { RunEnd } from "../../harness/log/run-end.ts";
import type { Outcome } from "../../types/journal.ts";
import type { RunResult } from "../../types/run/run.ts";

/** Resolves with the record of a run when the run has ended. */
export async function runEndOf({ stream }: Run): Promise<RunEnd> {
  await stream.done;
  if (stream.end === undefined) throw new Error("a run ended without run_end");
  return stream.end;
}

/**
 * Whether the turn has no outcome yet: the turn continues when the disk takes writes again, or after the next start.
 */
export const isUnfinished = (result: RunResult): boolean =>
  result.kind === "aborted" && (result.by === "shutdown" || result.by === "disk");

/** The outcome of a message whose run ended with this result. `said`: whether the chat got an answer. */
export function runOutcomeOf(result: RunResult, said: boolean): Outcome {
  if (result.kind === "failed") return { kind: "failed", why: `${result.failure.kind}: ${result.failure.message}` };
  if (result.kind === "aborted" && result.by === "timeout")
    return { kind: "failed", why: "timeout: the run took longer than it may" };
  if (result.kind === "aborted") return { kind: "aborted" };
  return said ? { kind: "replied" } : { kind: "silent" };
}

/** The text of an answer's messages without directives. */
export const answerText = (texts: readonly string[]): string =>
  texts
    .map((text) => parseDirectives(text).text)
    .filter((text) => text.trim() !== "")
    .join("\n\n");
