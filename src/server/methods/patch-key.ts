import { chatOf } from "../../sessions/chat-of.ts";
import { agentOf } from "../../sessions/keys.ts";
import type { SessionKey } from "../../types/ids.ts";
import { MethodError } from "../../types/method.ts";
import type { ServerPorts } from "../options.ts";
import { sessionForTurn } from "./turn-session.ts";

type Ports = Pick<ServerPorts, "sessions" | "resolveSessionKey" | "catalog">;

const LONGEST = 512;

/**
 * The session whose settings a client changes. Throws `MethodError` for a key without a row that no message could ever have:
 * the change would leave a row that nothing uses.
 */
export function sessionForPatch(text: string, ports: Ports): SessionKey {
  const key = ports.resolveSessionKey(text);
  if (ports.sessions.peek(key) !== undefined) return key;
  const { catalog } = ports;
  if (key.trim() === "") throw refused("SESSION_KEY", "the key of the session is blank");
  if (key.length > LONGEST) throw refused("SESSION_KEY", `a key of a session has at most ${LONGEST} characters`);
  if (/\p{Cc}/u.test(key)) throw refused("SESSION_KEY", "the key of the session contains control characters");
  const agent = agentOf(key, catalog.defaultAgent);
  if (!catalog.agents().some(({ id }) => id === agent))
    throw refused("SESSION_KEY", `the key of the session names an agent that does not exist: ${agent}`);
  return sessionForTurn(text, ports);
}

/** Only groups have an activation: elsewhere every message is for the agent, and the setting would have no effect. */
export function refuseActivation(key: SessionKey, { sessions, catalog }: Ports): void {
  if (chatOf(key, sessions.peek(key), catalog.defaultAgent)?.chat.kind === "group") return;
  throw refused("NOT_A_GROUP", `groupActivation is a setting of groups, and ${key} is not the session of a group`);
}

const refused = (code: string, message: string): MethodError =>
  new MethodError("INVALID_REQUEST", message, { details: { code } });
