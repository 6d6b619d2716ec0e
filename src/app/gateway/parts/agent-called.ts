import { MethodError } from "../../../types/method.ts";
import type { AgentSettings } from "../../../types/settings.ts";
import type { Parts } from "./parts.ts";

/** The agent with that id, or the default one. Throws NOT_FOUND. */
export function agentCalled(id: string | undefined, { live }: Pick<Parts, "live">): AgentSettings {
  const agent = id === undefined ? live.defaultAgent : live.agents.find((one) => one.id === id);
  if (!agent) throw new MethodError("NOT_FOUND", `there is no agent "${id}"`);
  return agent;
}
