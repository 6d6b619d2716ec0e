import { modelName, type ModelRef } from "../../types/run/model.ts";
import type { AgentSettings, ModelParams } from "../../types/settings.ts";

/** The configured parameters of a model's answers: the agent's over the defaults, a model's over those for all models. */
export function paramsFor({ params = [] }: Pick<AgentSettings, "params">, ref: ModelRef): ModelParams {
  const names = new Set([modelName(ref), `${ref.provider}/*`]);
  const counting = params.filter(({ model }) => model === undefined || names.has(model));
  return Object.assign({}, ...counting.map(({ values }) => values));
}

/** The most tokens of an answer: as the config has it, and no more than the model has or a provider would accept. */
export function mostOutput(wanted: number | undefined, known: number, learned: number | undefined): number | undefined {
  const limits = [learned, wanted === undefined ? undefined : Math.min(wanted, known)];
  const given = limits.filter((limit) => limit !== undefined);
  return given.length === 0 ? undefined : Math.min(...given);
}
