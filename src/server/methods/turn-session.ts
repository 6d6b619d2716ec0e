import { parseKey } from "../../sessions/keys.ts";
import type { SessionKey } from "../../types/ids.ts";
import { MethodError } from "../../types/method.ts";
import type { ServerPorts } from "../options.ts";

type Ports = Pick<ServerPorts, "sessions" | "resolveSessionKey">;

/**
 * The session that a client's message goes to. Throws `MethodError` for the key of a subagent that nobody started: its turns
 * would have the prompt and the reach of a whole agent.
 */
export function sessionForTurn(text: string, { sessions, resolveSessionKey }: Ports): SessionKey {
  const key = resolveSessionKey(text);
  if (parseKey(key).kind !== "subagent" || sessions.peek(key)?.spawnedBy !== undefined) return key;
  throw new MethodError("INVALID_REQUEST", `${key} is the session of a subagent, and no agent has started it`, {
    details: { code: "SUBAGENT_NOT_STARTED" },
  });
}
