import { agentOf, parseKey } from "../../sessions/keys.ts";
import type { SessionKey } from "../../types/ids.ts";
import { MethodError } from "../../types/method.ts";
import type { ServerPorts } from "../options.ts";

type Ports = Pick<ServerPorts, "sessions" | "catalog">;

/** Whether the agent that a key names is one of the config's. */
export const hasAgent = (key: SessionKey, { catalog }: Pick<Ports, "catalog">): boolean =>
  catalog.agents().some(({ id }) => id === agentOf(key, catalog.defaultAgent));

/** Throws `MethodError` for the key of an agent that does not exist. */
export function requireKnownAgent(key: SessionKey, ports: Pick<Ports, "catalog">): void {
  if (hasAgent(key, ports)) return;
  const agent = agentOf(key, ports.catalog.defaultAgent);
  throw new MethodError("NOT_FOUND", `there is no agent "${agent}"`, {
    details: { code: "UNKNOWN_AGENT_ID", agentId: agent },
  });
}

/**
 * The session for a client's message. Throws `MethodError` for the key of an agent that does not exist, and for the key of a
 * subagent that no agent started: its turns would have the prompt and the tools of a full agent.
 */
export function sessionForTurn(key: SessionKey, ports: Ports): SessionKey {
  const isStarted = parseKey(key).kind !== "subagent" || ports.sessions.peek(key)?.spawnedBy !== undefined;
  if (!isStarted)
    throw new MethodError("INVALID_REQUEST", "this is the session of a subagent, and no agent has started it", {
      details: { code: "SUBAGENT_NOT_STARTED" },
    });
  requireKnownAgent(key, ports);
  return key;
}
