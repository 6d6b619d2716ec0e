import type { RunLog } from "../../harness/log/log.ts";
import type { NoticeCause } from "../../types/chat/reply.ts";
import type { RunResult } from "../../types/run/run.ts";

/** Ends the log of a message that got no run, with a text of the gateway as its answer. */
export function endLogWithText(log: RunLog, text: string, because: NoticeCause, now: number): void {
  log.emit({ type: "run_start", facts: log.facts, startedAt: now });
  log.emit({ type: "answer", text, because });
  endLog(log, { kind: "replied", stop: "stop" }, now);
}

/** Ends the log of a message that got no run. */
export function endLog(log: RunLog, result: RunResult, now: number): void {
  const receipt = { model: { provider: "openclaw", id: "gateway" }, ...log.cost, durationMs: 0 };
  log.emit({ type: "run_end", result, receipt, endedAt: now });
}
