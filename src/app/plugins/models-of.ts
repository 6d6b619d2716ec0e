import type { ModelRef } from "../../types/run/model.ts";
import type { AgentSettings } from "../../types/settings.ts";

/** The models that an agent asks, in their order. */
export const modelsOf = ({ model: { primary, fallbacks } }: Pick<AgentSettings, "model">): readonly ModelRef[] => [
  ...(primary ? [primary] : []),
  ...fallbacks,
];
