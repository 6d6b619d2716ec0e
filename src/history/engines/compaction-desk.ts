import type { CompactParams, CompactResult } from "../../types/engine/context-engine.ts";
import type { EngineCompacted } from "../../types/engine/engine-turn.ts";

export type RuntimeCompact = (params: CompactParams) => Promise<CompactResult>;

/** Where engines find the built-in compaction of a session. */
export class CompactionDesk {
  readonly #lent = new Map<string, RuntimeCompact[]>();

  /** Registers a compaction until the returned function is called. When a session has several, the latest one is used. */
  lend(sessionId: string, compact: RuntimeCompact): () => void {
    const there = this.#lent.get(sessionId) ?? [];
    this.#lent.set(sessionId, [...there, compact]);
    return () => {
      const left = (this.#lent.get(sessionId) ?? []).filter((one) => one !== compact);
      if (left.length > 0) this.#lent.set(sessionId, left);
      else this.#lent.delete(sessionId);
    };
  }

  /** Rejects as the compaction does. A session without a running turn is not compacted, and the answer says so. */
  async compact(params: CompactParams): Promise<CompactResult> {
    const compact = this.#lent.get(params.sessionId)?.at(-1);
    if (!compact) return { ok: false, compacted: false, reason: "no turn of this session is under way" };
    return compact(params);
  }
}

/** Result of a compaction in the form of the engines' interface. */
export function compactResultOf(done: EngineCompacted): CompactResult {
  if (done.kind === "nothing") return { ok: true, compacted: false, reason: done.reason };
  // The engines' interface requires a number.
  const { tokensBefore = 0, tokensAfter } = done;
  return {
    ok: true,
    compacted: true,
    result: { tokensBefore, ...(tokensAfter !== undefined && { tokensAfter }) },
  };
}
