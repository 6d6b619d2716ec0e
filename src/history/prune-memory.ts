import type { ChatMessage } from "../types/run/model.ts";
import type { PruneRules } from "../types/settings.ts";
import { forgetOldest } from "../utils/forget-oldest.ts";
import { prune, type Pruned } from "./prune.ts";

export interface PruneTurn {
  readonly messages: readonly ChatMessage[];
  /** Tokens. */
  readonly contextWindow: number;
  readonly now: number;
}

const NEVER: Pruned = { touchedAt: Number.NEGATIVE_INFINITY, cuts: {} };

/**
 * Remembers which results were pruned in the latest conversations, so that their requests keep the same beginning. An
 * unknown conversation, as after a restart, is pruned anew, because by then the provider has usually dropped its cache.
 */
export class PruneMemory {
  readonly #known = new Map<string, Pruned>();
  readonly #limit: number;

  constructor(limit = 500) {
    this.#limit = limit;
  }

  /** The messages as the next request contains them. `sessionId` changes when a conversation begins anew. */
  prune(sessionId: string, turn: PruneTurn, rules: PruneRules): readonly ChatMessage[] {
    const past = this.#known.get(sessionId) ?? NEVER;
    const { messages, pruned } = prune({ ...turn, past }, rules);
    this.#keep(sessionId, pruned);
    return messages;
  }

  /** The results of a conversation that are pruned now. */
  cutsOf(sessionId: string): Pruned["cuts"] {
    return this.#known.get(sessionId)?.cuts ?? {};
  }

  /** Forgets a conversation: after a compaction the rest of it is pruned anew. */
  forget(sessionId: string): void {
    this.#known.delete(sessionId);
  }

  #keep(sessionId: string, pruned: Pruned): void {
    this.#known.delete(sessionId);
    this.#known.set(sessionId, pruned);
    forgetOldest(this.#known, this.#limit);
  }
}
