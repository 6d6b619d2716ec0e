import type { Approvals } from "../approvals/approvals.ts";
import type { RunBoard } from "../clients/run-registry.ts";
import type { Compactions } from "../maintenance/compactions.ts";
import type { DispatchPorts } from "../ports.ts";
import type { Replies } from "../replies.ts";

/** What bringing messages to their outcome takes. */
export interface RunnerPorts extends DispatchPorts {
  readonly approvals: Approvals;
  readonly board: RunBoard;
  readonly replies: Replies;
  readonly compactions: Compactions;
}
