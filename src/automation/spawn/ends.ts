import type { HookEvents } from "../../types/hook/events.ts";
import type { Outcome } from "../../types/journal.ts";
import type { SubagentEnd } from "../../types/subagent/subagent.ts";

/** The beginning of the `why` of a run that took too long; see `outcomeOf` in dispatch. */
const TIMEOUT = "timeout:";

/** How a subagent's run ended, for whoever waited for it. */
export function endOf(outcome: Outcome): SubagentEnd {
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

/** The same in the words of the hook. */
export function hookEndOf(outcome: Outcome): HookEnd {
  if (outcome.kind === "aborted") return { outcome: "killed" };
  const end = endOf(outcome);
  if (end.status !== "error") return { outcome: "ok" };
  return { outcome: end.error.startsWith(TIMEOUT) ? "timeout" : "error", error: end.error };
}
