import { isSameModel, modelName, type ModelRef } from "../../types/run/model.ts";
import type { HookContext, HookRunner } from "../../types/hook/hooks.ts";
import type { Log } from "../../types/log.ts";
import type { Session } from "../../types/session.ts";
import type { AgentSettings } from "../../types/settings.ts";
import { isFields } from "../../utils/fields.ts";
import { mayUse } from "./may-use.ts";

interface Asked {
  readonly prompt: string;
  readonly agent: AgentSettings;
  readonly session: Pick<Session, "entry">;
  readonly context: HookContext;
}

/**
 * The candidates with the model that a plugin chooses for this turn as the first. A model that `agents.*.models` does not
 * allow is not taken, and a key that the user pinned keeps its model.
 */
export async function withPluginModel(
  candidates: readonly ModelRef[],
  { prompt, agent, session, context }: Asked,
  { hooks, log }: { readonly hooks?: HookRunner | undefined; readonly log: Log },
): Promise<readonly ModelRef[]> {
  if (hooks?.has("before_model_resolve") !== true) return candidates;
  if (session.entry.authProfileOverrideSource === "user") return candidates;
  const [first] = candidates;
  const chosen = await hooks.first({ name: "before_model_resolve", event: { prompt }, context }, (answer, owner) => {
    const ref = refIn(answer, first);
    if (!ref || mayUse(agent, ref)) return ref;
    log.warn("the model of a plugin is not allowed", { owner, model: modelName(ref) });
    return undefined;
  });
  return chosen ? [chosen, ...candidates.filter((ref) => !isSameModel(ref, chosen))] : candidates;
}

/** `{modelOverride, providerOverride}`; a model may be named with its provider, and a provider alone keeps the model's id. */
function refIn(answer: unknown, first: ModelRef | undefined): ModelRef | undefined {
  if (!isFields(answer)) return undefined;
  const [provider, model] = [answer["providerOverride"], answer["modelOverride"]].map((name) =>
    typeof name === "string" && name !== "" ? name : undefined,
  );
  if (model === undefined) return provider !== undefined && first ? { provider, id: first.id } : undefined;
  const slash = model.indexOf("/");
  if (provider !== undefined) {
    const id = model.startsWith(`${provider}/`) ? model.slice(provider.length + 1) : model;
    return { provider, id };
  }
  if (slash > 0) return { provider: model.slice(0, slash), id: model.slice(slash + 1) };
  return first && { provider: first.provider, id: model };
}
