import { modelName } from "../../../../types/run/model.ts";
import type { ShownReceipt } from "../../../../types/run/run.ts";
import { showDuration } from "../../../../utils/time/duration.ts";

/** `2026-11-21 05:26:58`, in local time. */
export const localTime = (at: number): string => new Date(at).toLocaleString("sv-SE");

/** `850 ms`, `1.2 s`, `3 min`. */
export function showMs(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : showDuration(ms);
}

/** The model that answered, and the one that was asked for when it is another. */
export function answeredBy({ model, candidates }: ShownReceipt): string {
  // No model was to be asked.
  if (model.provider === "none") return "none";
  const [first] = candidates ?? [];
  const asked = first && modelName(first);
  return asked === undefined || asked === modelName(model) ? modelName(model) : `${modelName(model)} (for ${asked})`;
}

export const tokenCount = (tokens: number): string => tokens.toLocaleString("en");

/** Input tokens (also those from the provider's cache), output tokens, and cost. */
export function figures({ usage }: Pick<ShownReceipt, "usage">): { input: string; output: string; cost: string } {
  const { input, output, cacheRead, cacheWrite, cost } = usage;
  return {
    input: tokenCount(input + cacheRead + cacheWrite),
    output: tokenCount(output),
    cost: `$${cost.total.toFixed(4)}`,
  };
}
