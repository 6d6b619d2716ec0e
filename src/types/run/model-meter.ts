import type { AgentId, RunId, SessionKey } from "../ids.ts";
import type { ModelRef, Usage } from "./model.ts";
import type { RunFacts, RunTrigger } from "./run.ts";

/** Why a model is called: the trigger of a turn's kind, `compaction`, `engine`, `plugin`, or `probe` for a person who tests a key. */
export type CallCause = RunTrigger | "probe";

/** Origin of a model call, whose budgets pay for it. */
export interface CallOrigin {
  readonly cause: CallCause;
  readonly agentId?: AgentId;
  readonly sessionKey?: SessionKey;
  readonly runId?: RunId;
  /** The plugin that asked for the call. */
  readonly plugin?: string;
}

/** A model call that is about to be made. */
export interface PlannedCall extends CallOrigin {
  readonly model: ModelRef;
  /** Id of the key's `AuthProfile`. */
  readonly profileId: string;
  /** Tokens of the whole request, estimated. */
  readonly estimatedInputTokens: number;
  /** The most tokens that the answer may have; unset when nothing limits it. */
  readonly maxOutputTokens?: number;
  /** US dollars of such a request with the longest answer; 0 when no price is known. */
  readonly highestCost: number;
  /** The most that the call can take. */
  readonly most: WorstCase;
}

/**
 * The most that a call can take: estimates can be too low, and some providers add tokens for thinking to the tokens of
 * the answer.
 */
export interface WorstCase {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** A call with fewer tokens of output cannot give a useful answer. */
  readonly leastOutputTokens: number;
  /** US dollars for each token, the dearest kind; unset when no price is known. */
  readonly price?: { readonly input: number; readonly output: number };
}

/** The tokens and cost of an ended model call. */
export interface CallCost {
  readonly outcome: "answered" | "failed" | "aborted";
  readonly usage: Usage;
  /** The tokens are an estimate: the provider did not report them, or not all of them. */
  readonly isEstimate: boolean;
}

export type Reservation =
  /** `settle` is called exactly once for each reservation, whatever becomes of the call. It must not throw. */
  | {
      readonly kind: "allowed";
      /** The most tokens of output that the call may have, where that is less than was asked for. */
      readonly outputTokens?: number;
      settle(cost: CallCost): void;
    }
  /** The call is not made. `reason`: a sentence for the operator. */
  | { readonly kind: "refused"; readonly reason: string };

/** Reserves the cost of every model call of the gateway before it is made, and settles it afterwards. */
export interface ModelMeter {
  /**
   * Reserves the cost of a call. Resolves soon, because the call waits. A call that is stopped meanwhile is settled
   * with a cost of nothing. When the promise rejects, the call fails without being made. A killed process settles
   * nothing.
   */
  reserve(call: PlannedCall): Promise<Reservation>;
}

/** Allows every call. */
export const UNMETERED: ModelMeter = { reserve: async () => ({ kind: "allowed", settle: () => undefined }) };

/** A run's own calls have the trigger of its turn as their cause. */
export const callOriginOf = (
  { agentId, sessionKey, runId, trigger, plugin }: RunFacts,
  cause: CallCause = trigger,
): CallOrigin => ({ cause, agentId, sessionKey, runId, ...(plugin !== undefined && { plugin }) });
