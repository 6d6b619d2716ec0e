import type { PlannedCall, WorstCase } from "../../types/run/model-meter.ts";
import type { Usage } from "../../types/run/model.ts";
import { BoundedMap } from "../../utils/bounded-map.ts";

/** Conversations of which the last request is remembered. */
const MOST_KEPT = 1000;
/** Estimates are held with a fifth more in any case. */
const USUAL_RATIO = 1.2;
/** What is new in a request may have more tokens than its estimate, too. */
const MORE = 1.05;
/** A provider that counts more is not believed: it would keep every further call from being made. */
const MOST_RATIO = 8;

/**
 * How many times its estimate the last request of a conversation had. Estimates know no tokenizer: text that is no usual language has several
 * times as many tokens, and the next request of the conversation begins with the same text.
 */
export class InputRatios {
  readonly #ratios = new BoundedMap<string, number>(MOST_KEPT);

  /** The worst case of a call, by what was counted before. */
  worstOf(call: PlannedCall): WorstCase {
    const ratio = this.#ratios.get(nameOf(call)) ?? 0;
    if (ratio <= USUAL_RATIO) return call.most;
    const inputTokens = Math.ceil(call.estimatedInputTokens * ratio * MORE);
    return inputTokens > call.most.inputTokens ? { ...call.most, inputTokens } : call.most;
  }

  /** Called with what the provider counted. */
  note(call: PlannedCall, { input, cacheRead, cacheWrite }: Usage): void {
    if (call.estimatedInputTokens <= 0) return;
    const ratio = (input + cacheRead + cacheWrite) / call.estimatedInputTokens;
    this.#ratios.set(nameOf(call), Math.min(ratio, MOST_RATIO));
  }
}

const nameOf = ({ sessionKey, plugin, model: { provider, id } }: PlannedCall): string =>
  [provider, id, sessionKey, plugin].join(" ");
