import { parseKey } from "../../sessions/keys.ts";
import type { SessionKey } from "../../types/ids.ts";
import { MethodError } from "../../types/method.ts";
import type { ServerPorts } from "../options.ts";

type Ports = Pick<ServerPorts, "sessions">;

/**
 * The session for a client's message. Throws `MethodError` for the key of a subagent that no agent started: its turns would
 * have the prompt and the tools of a full agent.
 */
export function sessionForTurn(key: SessionKey, { sessions }: Ports): SessionKey {
  if (parseKey(key).kind !== "subagent" || sessions.peek(key)?.spawnedBy !== undefined) return key;
  throw new MethodError("INVALID_REQUEST", "this is the session of a subagent, and no agent has started it", {
    details: { code: "SUBAGENT_NOT_STARTED" },
  });
}
