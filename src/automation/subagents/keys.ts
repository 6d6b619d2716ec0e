import { canonicalKey, parseKey } from "../../sessions/keys.ts";
import { sessionKey, type AgentId, type SessionKey } from "../../types/ids.ts";

/** A UUID with an agent, and some room for names of plugins. */
const MOST_CHARS = 200;

/** Keys without a colon that the gateway uses itself. */
const RESERVED = new Set(["main", "heartbeat", "subagent"]);

/**
 * The key of a subagent's session: `agent:<agent>:subagent:<name>`. Plugins also write `<word>:subagent:<name>` and names
 * without a colon; those belong to the default agent. Throws for the key of a chat and for one that cannot be a key.
 */
export function subagentKey(text: string, defaultAgent: AgentId): SessionKey {
  if (text.length > MOST_CHARS || !/^[\w.:-]+$/.test(text) || text.includes("::"))
    throw new Error(
      `the session key of a subagent has letters, digits, ".", "_", "-" and ":", and at most ${MOST_CHARS} characters`,
    );
  const key = canonicalKey(sessionKey(text), defaultAgent);
  const name = withoutAgent(key);
  const isOfSubagent = /^(?:[^:]+:)?subagent:[^:]/.test(name) || (!name.includes(":") && !RESERVED.has(name));
  if (isOfSubagent && parseKey(key, defaultAgent).kind !== "main") return key;
  throw new Error(`the session key "${text}" is no subagent's: use agent:<agent>:subagent:<name>`);
}

function withoutAgent(key: SessionKey): string {
  const [first, , ...rest] = key.split(":");
  return first === "agent" && rest.length > 0 ? rest.join(":") : key;
}
