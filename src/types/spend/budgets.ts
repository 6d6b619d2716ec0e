import type { BudgetState } from "../answers/usage.ts";
import type { RunId, SessionKey } from "../ids.ts";
import type { CallOrigin } from "../run/model-meter.ts";
import type { ModelRef } from "../run/model.ts";
import type { SpendSum } from "./ledger.ts";

/** A call that a limit did not allow. */
export interface BudgetRefusal {
  /** A sentence for an owner. */
  readonly text: string;
  /** Amount by which an owner's yes raises the limit, in words; unset where no raise would help. */
  readonly raise?: string;
}

/** A model that answers in place of the usual one, because a limit is near. */
export interface SoftModel {
  readonly model: ModelRef;
  /** Text for the chat, once a day. */
  readonly text: string;
  /** As `2026-11-27`. */
  readonly day: string;
}

/** Amount that a person or a command adds to a limit; one of the two. */
export interface WantedRaise {
  /** Amount in the currency of the config. */
  readonly money?: number | undefined;
  readonly tokens?: number | undefined;
  /** The last part of the config key, such as `day`; the limit that was reached when unset. */
  readonly key?: string | undefined;
}

/** The budgets of the gateway, for runs and commands. */
export interface Budgets {
  /** Why the last call of a run was refused; undefined when it was not. */
  refusedIn(runId: RunId): BudgetRefusal | undefined;
  /** Whether the limit that refused the last call of a run has room for it now. */
  hasRoomFor(runId: RunId): Promise<boolean>;
  /** Raises the limit that refused the last call of a run, so that the call fits. */
  allow(runId: RunId): Promise<void>;
  /** The limits that apply to calls of an origin, narrowest first. None when the config has none. */
  states(origin: CallOrigin): Promise<readonly BudgetState[]>;
  /** Raises a limit that applies to an origin, until its time is over. Returns its new state, or a sentence that says why not. */
  raise(origin: CallOrigin, wanted: WantedRaise): Promise<BudgetState | string>;
  /** Sum that a conversation with its subagents took today, or sum of everything when no conversation is named. */
  spentToday(session?: SessionKey): Promise<SpendSum>;
  /** The model that is to answer instead; undefined while no limit is near, and without a soft limit. */
  softFor(origin: CallOrigin): Promise<SoftModel | undefined>;
}
