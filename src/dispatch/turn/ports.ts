import type { Approvals } from "../approvals/approvals.ts";
import type { RunRegistry } from "../run-registry.ts";
import type { Compactions } from "../maintenance/compactions.ts";
import type { DispatchPorts } from "../ports.ts";
import type { Replies } from "../notices/replies.ts";

/** The parts of dispatch itself that all turns share. */
interface SharedParts {
  readonly approvals: Approvals;
  readonly registry: RunRegistry;
  readonly replies: Replies;
  readonly compactions: Compactions;
}

/** The ports that the stages of a turn may call. */
export interface TurnPorts extends DispatchPorts {
  readonly shared: SharedParts;
}
