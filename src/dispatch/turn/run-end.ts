import { parseDirectives } from "../../reply/directives.ts";
import type { Run } from "../../harness/run.ts";
import type { RunEnd } from "../../harness/log/run-end.ts";
import type { Outcome } from "../../types/journal.ts";
import type { RunResult } from "../../types/run/run.ts";

/** What a run leaves to be written down, once it has ended. */
export async function endOf({ stream }: Run): Promise<RunEnd> {
  await stream.done;
  if (stream.end === undefined) throw new Error("a run ended without run_end");
  return stream.end;
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

/** What an answer's messages say to people. */
export const answerText = (texts: readonly string[]): string =>
  texts
    .map((text) => parseDirectives(text).text)
    .filter((text) => text.trim() !== "")
    .join("\n\n");
