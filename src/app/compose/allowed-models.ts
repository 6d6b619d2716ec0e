import type { PluginEntry } from "../../plugins/config.ts";
import { modelName, type ModelRef } from "../../types/run/model.ts";
import { readModelRef } from "../config/settings.ts";

/** A model call of a plugin. */
export interface PluginCall {
  readonly plugin: string;
  readonly llm: PluginEntry["llm"];
  /** `provider/model`; the conversation's own when unset. */
  readonly model: string | undefined;
}

/** The models that the call may ask, in their order. `own`: those of the conversation. Throws where the config does not allow it. */
export function allowedModels(own: readonly ModelRef[], { plugin, llm, model }: PluginCall): readonly ModelRef[] {
  if (model === undefined) return own;
  const named = own.filter((ref) => modelName(ref) === model);
  if (named.length > 0) return named;
  // Plugins recognise a denial by its first words.
  if (!llm.allowModelOverride)
    throw new Error(
      `Plugin LLM completion cannot override the target model: set plugins.entries.${plugin}.llm.allowModelOverride.`,
    );
  const allowed = llm.allowedModels;
  if (allowed && !allowed.includes("*") && !allowed.includes(model))
    throw new Error(
      `Plugin LLM completion model override "${model}" is not allowlisted: add it to plugins.entries.${plugin}.llm.allowedModels.`,
    );
  return [readModelRef(model)];
}

/** Throws when a call in one agent's conversation names another agent. */
export function requireSameAgent(bound: string, wanted: string | undefined): void {
  if (wanted !== undefined && wanted !== bound)
    throw new Error("Plugin LLM completion cannot override the active session agent.");
}
