import type { InboundMessage } from "../../types/chat/message.ts";
import { isSameModel, type ModelRef } from "../../types/run/model.ts";
import type { Session } from "../../types/session.ts";
import type { AgentSettings } from "../../types/settings.ts";
import { mayUse } from "./may-use.ts";
import type { DispatchPorts } from "../ports.ts";

/**
 * The models of a run in the order in which they are asked: the choice of the message, else of the session; then the agent's
 * model, or an available one, with its fallbacks. Each once. With a key that the user pinned only the chosen model is asked.
 */
export async function candidatesFor(
  message: InboundMessage | undefined,
  session: Pick<Session, "entry">,
  agent: AgentSettings,
  ports: { readonly models: Pick<DispatchPorts["models"], "choose"> },
): Promise<readonly ModelRef[]> {
  const asked = [parseRef(message?.options?.model), chosenIn(session.entry)].find((ref) => ref && mayUse(agent, ref));
  if (asked && session.entry.authProfileOverrideSource === "user") return [asked];
  const { primary, fallbacks } = agent.model;
  const given = asked ? [asked, ...fallbacks, primary] : [primary ?? (await ports.models.choose()), ...fallbacks];
  const refs = given.filter((ref) => ref !== undefined);
  return refs.filter((ref, at) => refs.findIndex((other) => isSameModel(other, ref)) === at);
}

function chosenIn({ providerOverride: provider, modelOverride: id }: Session["entry"]): ModelRef | undefined {
  return provider === undefined || id === undefined ? undefined : { provider, id };
}

function parseRef(text: string | undefined): ModelRef | undefined {
  const slash = text?.indexOf("/") ?? -1;
  return text === undefined || slash < 1 ? undefined : { provider: text.slice(0, slash), id: text.slice(slash + 1) };
}
