import { modelName, type ModelRef } from "../../types/run/model.ts";
import { readModelRef } from "../config/settings.ts";

/** Permission of the config for the models of a plugin: `plugins.entries.<id>.llm` or `.subagent`. */
interface ModelGrant {
  readonly allowModelOverride: boolean;
  readonly allowedModels?: readonly string[] | undefined;
}

/** A model call of a plugin, or a subagent that it starts. */
export interface PluginCall {
  readonly plugin: string;
  /** The kind of call, which is also the key of its grant. */
  readonly what: "llm" | "subagent";
  readonly grant: ModelGrant;
  /** `provider/model`; the conversation's own when unset. */
  readonly model: string | undefined;
}

/** Plugins recognise a denial by the words of these sentences. */
const DENIALS = {
  llm: {
    none: "Plugin LLM completion cannot override the target model",
    other: (model: string) => `Plugin LLM completion model override "${model}" is not allowlisted`,
  },
  subagent: {
    none: "Plugin subagent run cannot override the target model: provider/model overrides are not authorized",
    other: (model: string, plugin: string) =>
      `Plugin subagent run model override "${model}" is not allowlisted for plugin "${plugin}"`,
  },
} as const;

/**
 * The models that the call may ask, in their order. `own` are the models of the conversation. Throws when the config
 * does not allow the model.
 */
export function allowedModels(
  own: readonly ModelRef[],
  { plugin, what, grant, model }: PluginCall,
): readonly ModelRef[] {
  if (model === undefined) return own;
  const named = own.filter((ref) => modelName(ref) === model);
  if (named.length > 0) return named;
  const denial = DENIALS[what];
  if (!grant.allowModelOverride)
    throw new Error(`${denial.none}: set plugins.entries.${plugin}.${what}.allowModelOverride.`);
  const allowed = grant.allowedModels;
  if (allowed && !allowed.includes("*") && !allowed.includes(model))
    throw new Error(`${denial.other(model, plugin)}: add it to plugins.entries.${plugin}.${what}.allowedModels.`);
  return [readModelRef(model)];
}

/** Throws when a call in one agent's conversation names another agent. */
export function requireSameAgent(bound: string, wanted: string | undefined): void {
  if (wanted !== undefined && wanted !== bound)
    throw new Error("Plugin LLM completion cannot override the active session agent.");
}
