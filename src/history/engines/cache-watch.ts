import type { PromptCacheFacts } from "../../types/engine/context-engine.ts";
import type { ModelInfo, Usage } from "../../types/run/model.ts";
import { modelName } from "../../types/run/model.ts";
import { forgetOldest } from "../../utils/forget-oldest.ts";

type Observation = NonNullable<PromptCacheFacts["observation"]>;

interface Seen {
  readonly model: string;
  readonly cacheRead: number;
}

/** Sessions that are remembered. */
const MOST_SESSIONS = 1000;
/** The cache counts as broken when the provider read this much less from it than before, in tokens and as a share. */
const LEAST_LOSS = 1000;
const LEAST_PART = 0.1;

/** Compares the provider's cache reads with the previous turn of the same session. */
export class CacheWatch {
  readonly #seen = new Map<string, Seen>();

  /** Undefined at the first turn of a session. */
  observe(sessionId: string, info: ModelInfo, { cacheRead }: Usage): Observation | undefined {
    const before = this.#seen.get(sessionId);
    const model = modelName(info);
    this.#seen.delete(sessionId);
    this.#seen.set(sessionId, { model, cacheRead });
    forgetOldest(this.#seen, MOST_SESSIONS);
    if (!before) return undefined;
    const loss = before.cacheRead - cacheRead;
    const isOther = before.model !== model;
    return {
      broke: loss >= LEAST_LOSS && loss > before.cacheRead * LEAST_PART,
      previousCacheRead: before.cacheRead,
      cacheRead,
      changes: isOther ? [{ code: "model", detail: `${before.model} -> ${model}` }] : [],
    };
  }
}
