import { modelName } from "../../types/run/model.ts";
import type { Receipt } from "../../types/run/run.ts";
import type { UsageLevel } from "../../types/run/usage-level.ts";

/** What a chat with this level is told about an answer's cost. Undefined when nothing. Pure. */
export function usageLine({ usage, model, durationMs }: Receipt, level: UsageLevel): string | undefined {
  if (level === "off") return undefined;
  const { input, output, cacheRead, cacheWrite, cost } = usage;
  const count = (tokens: number) => tokens.toLocaleString("en");
  const tokens = `Usage: ${count(input + cacheRead + cacheWrite)} tokens in, ${count(output)} out`;
  if (level === "tokens") return tokens;
  const cached = cacheRead > 0 ? ` (${count(cacheRead)} of them cached)` : "";
  return `${tokens}${cached}, $${cost.total.toFixed(4)}, ${modelName(model)}, ${(durationMs / 1000).toFixed(1)} s`;
}
