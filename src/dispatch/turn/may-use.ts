import { modelName, type ModelRef } from "../../types/run/model.ts";
import type { AgentSettings } from "../../types/settings.ts";

/** Whether a model may be chosen for a conversation of this agent: its own always, others by `agents.*.models`. */
export function mayUse(
  { allowedModels, model }: Pick<AgentSettings, "allowedModels" | "model">,
  ref: ModelRef,
): boolean {
  if (allowedModels === undefined) return true;
  const own = [...(model.primary ? [model.primary] : []), ...model.fallbacks].map(modelName);
  return [...own, ...allowedModels].some((name) => name === modelName(ref) || name === `${ref.provider}/*`);
}
