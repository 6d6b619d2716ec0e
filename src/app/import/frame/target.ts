import { type AgentId, agentId, DEFAULT_AGENT } from "../../../types/ids.ts";
import { listedAgents } from "../../config/keys/agent-key.ts";
import { valueAt } from "../../config/schema/problem.ts";

/** The default agent of a config that need not be valid, as `resolveAgents` finds it. */
export function defaultAgentIn(value: unknown): AgentId {
  const agents = listedAgents(value);
  const named = valueAt(value, ["agents", "defaults", "agentId"]);
  const found =
    agents.find(({ entry }) => valueAt(entry, ["default"]) === true) ??
    agents.find(({ id }) => id === named) ??
    agents[0];
  if (found) return agentId(found.id);
  return typeof named === "string" && named !== "" ? agentId(named) : DEFAULT_AGENT;
}
