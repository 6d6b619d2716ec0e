import type { HookEvents } from "../../types/hook/events.ts";
import type { Outcome } from "../../types/journal.ts";
import type { SubagentEnd } from "../../types/subagent/subagent.ts";

/** The beginning of the `why` of a run that took too long; see `runOutcomeOf` in dispatch. */
const TIMEOUT = "timeout:";

/** The end of a subagent's run, for a caller that waited for it. */
export function subagentEndOf(outcome: Outcome): SubagentEnd {
  switch (outcome.kind) {
    case "failed":
    case "dropped":
      return { status: "error", error: outcome.why };
    case "aborted":
      return { status: "error", error: "the run was stopped" };
    default:
      return { status: "ok" };
  }
}

type HookEnd = Pick<HookEvents["subagent_ended"], "outcome" | "error">;

/** The end of a subagent's run in the terms of the hook `subagent_ended`. */
export function hookEndOf(outcome: Outcome): HookEnd {
  if (outcome.kind === "aborted") return { outcome: "killed" };
  const end = subagentEndOf(outcome);
  if (end.status !== "error") return { outcome: "ok" };
  return { outcome: end.error.startsWith(TIMEOUT) ? "timeout" : "error", error: end.error };
}
