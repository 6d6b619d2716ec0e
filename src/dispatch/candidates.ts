import type { InboundMessage } from "../types/chat/message.ts";
import type { AgentId } from "../types/ids.ts";
import { isSameModel, type ModelRef, parseModelName, modelName } from "../types/run/model.ts";
import type { Session } from "../types/session.ts";
import type { AgentSettings } from "../types/settings.ts";
import type { DispatchPorts } from "./ports.ts";

/**
 * The models of a run in the order in which they are asked: the choice of the turn's messages, else of the session;
 * then the agent's model, or an available one, with its fallbacks. Each model is asked once. With a key that the user
 * pinned for the session, only the model that the session has chosen is asked.
 */
export async function candidatesFor(
  { message, said }: { readonly message?: InboundMessage | undefined; readonly said?: ModelRef | undefined },
  session: Pick<Session, "entry">,
  agent: AgentSettings,
  ports: { readonly models: { of(agent: AgentId): Pick<DispatchPorts["runs"]["models"], "choose"> } },
): Promise<readonly ModelRef[]> {
  const ofSession = chosenIn(session.entry);
  const given = [said, modelIn(message), ofSession];
  const asked = given.find((ref) => ref && mayUse(agent, ref));
  const isPinned = session.entry.authProfileOverrideSource === "user";
  if (asked && isPinned && ofSession && isSameModel(asked, ofSession)) return [asked];
  const named = fallbacksIn(message, agent);
  if (named) return distinct([asked ?? agent.model.primary, ...named]);
  const { primary, fallbacks } = agent.model;
  const all = asked
    ? [asked, ...fallbacks, primary]
    : [primary ?? (await ports.models.of(agent.id).choose()), ...fallbacks];
  return distinct(all);
}

/** The fallbacks that a scheduled job names; undefined when it names none. */
const fallbacksIn = (
  message: InboundMessage | undefined,
  agent: AgentSettings,
): readonly (ModelRef | undefined)[] | undefined =>
  message?.options?.cron?.fallbacks?.map(parseModelName).filter((ref) => ref && mayUse(agent, ref));

function distinct(all: readonly (ModelRef | undefined)[]): readonly ModelRef[] {
  const refs = all.filter((ref) => ref !== undefined);
  return refs.filter((ref, at) => refs.findIndex((other) => isSameModel(other, ref)) === at);
}

const modelIn = (message: InboundMessage | undefined): ModelRef | undefined => {
  const name = message?.options?.model;
  return name === undefined ? undefined : parseModelName(name);
};

function chosenIn({ providerOverride: provider, modelOverride: id }: Session["entry"]): ModelRef | undefined {
  return provider === undefined || id === undefined ? undefined : { provider, id };
}

/**
 * Whether a model may be chosen for a conversation of this agent: the agent's own models always, others by
 * `agents.*.models`.
 */
export function mayUse(
  { allowedModels, model }: Pick<AgentSettings, "allowedModels" | "model">,
  ref: ModelRef,
): boolean {
  if (allowedModels === undefined) return true;
  const own = [...(model.primary ? [model.primary] : []), ...model.fallbacks].map(modelName);
  return [...own, ...allowedModels].some((name) => name === modelName(ref) || name === `${ref.provider}/*`);
}
