import { type AgentId, agentId, DEFAULT_AGENT } from "../../../types/ids.ts";
import { listedAgents } from "../../config/keys/agent-key.ts";
import type { LoadOptions } from "../../config/load.ts";
import { withPresentForms } from "../../config/old-forms.ts";
import { isRecord, valueAt } from "../../config/schema/problem.ts";
import { readConfigSource } from "../../config/source.ts";
import type { ImportSource } from "./source.ts";

/** The value of the config that the target has once the import is done: its own, else the source's. In the forms of today. */
export async function readTargetValue(from: Pick<ImportSource, "value">, load: LoadOptions): Promise<unknown> {
  const own = await readConfigSource(load);
  if (own.text !== undefined) return withPresentForms(own.value).value;
  // OpenClaw reads a missing `session.dmScope` as `main`, and so it is written into the new config.
  const { session, ...others } = isRecord(from.value) ? from.value : {};
  return { ...others, session: { dmScope: "main", ...(isRecord(session) && session) } };
}

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
