import type { ModelRef } from "../../../types/run/model.ts";
import { modelName } from "../../../types/run/model.ts";
import type { Parts } from "./parts.ts";

/** The model that a new conversation of the default agent gets. */
export async function defaultModel({ live, core }: Pick<Parts, "live" | "core">): Promise<ModelRef> {
  return live.defaultAgent.model.primary ?? core.models.of(live.defaultAgent.id).choose();
}

/** Finds the model of new conversations, for those who show it. Resolves with the reason when it cannot be used. */
export async function findDefaultModel(parts: Pick<Parts, "live" | "core" | "model">): Promise<string | undefined> {
  const found = await parts.core.models.of(parts.live.defaultAgent.id).find(await defaultModel(parts));
  if ("missing" in found) delete parts.model.info;
  else parts.model.info = found.info;
  return "missing" in found ? found.missing : undefined;
}

/** The name of the default model, with the reason when it cannot be used. */
export async function describeModel(parts: Pick<Parts, "live" | "core">): Promise<string> {
  const ref = await defaultModel(parts);
  const found = await parts.core.models.of(parts.live.defaultAgent.id).find(ref);
  if ("missing" in found) return `${modelName(ref)} (${found.missing})`;
  return found.info.demo === true
    ? `${modelName(ref)} (built in; set ANTHROPIC_API_KEY or another key for a real one)`
    : modelName(ref);
}
