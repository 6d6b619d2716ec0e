import { agentOf, parseKey } from "../../sessions/keys.ts";
import { type AgentId, type SessionKey, sessionKey } from "../../types/ids.ts";
import type { SessionAsker, SessionView } from "../../types/subagent/spawn.ts";
import type { Sessions } from "../../types/session.ts";

/** Settings of the config for sessions that agents can see and write to. */
export interface TalkRules {
  readonly defaultAgent: AgentId;
  readonly agents: { has(agent: AgentId): boolean };
  /** `tree`: the session itself and its subagents. */
  readonly visibility: "self" | "tree" | "agent" | "all";
  readonly agentToAgent: { readonly enabled: boolean; readonly allow: readonly string[] };
  /** Number of answers that may go back and forth after a message. */
  readonly maxPingPongTurns: number;
}

type Rows = Pick<Sessions, "peek">;

/**
 * Reason why a run may not see another session; undefined when it may. Runs of guests, and of sandboxed sessions unless
 * the config allows more, see no more than their tree.
 */
export function whySessionHidden(
  key: SessionKey,
  asker: SessionAsker,
  { sessions, rules }: { readonly sessions: Rows; readonly rules: TalkRules },
): string | undefined {
  if (key === asker.sessionKey) return undefined;
  const isWide = asker.isOwner && (!asker.isSandboxed || asker.seesLikeOthers === true);
  const visibility = isWide || rules.visibility === "self" ? rules.visibility : "tree";
  if (visibility === "self") return "Only this session can be seen (tools.sessions.visibility is self).";
  if (isBelow(key, asker.sessionKey, sessions)) return undefined;
  if (visibility === "tree")
    return isWide
      ? "Only this session and its subagents can be seen (tools.sessions.visibility is tree)."
      : "This session sees only itself and its subagents, since no owner's unconfined run asks.";
  const agent = agentOf(key, rules.defaultAgent);
  if (agent === asker.agentId) return undefined;
  if (visibility === "agent") return `It belongs to the agent "${agent}" (tools.sessions.visibility is agent).`;
  return whyApart(agent, asker.agentId, rules);
}

function whyApart(agent: AgentId, own: AgentId, { agentToAgent }: TalkRules): string | undefined {
  const { enabled, allow } = agentToAgent;
  if (!enabled)
    return `It belongs to the agent "${agent}", and agents do not talk to each other (tools.agentToAgent.enabled).`;
  const allows = (id: AgentId) => allow.length === 0 || allow.some((entry) => entry === "*" || entry === id);
  if (allows(agent) && allows(own)) return undefined;
  return `The agents "${own}" and "${agent}" may not talk to each other (tools.agentToAgent.allow).`;
}

/** Whether a session was asked for by the session `above`, or by one below that. */
function isBelow(key: SessionKey, above: SessionKey, sessions: Rows): boolean {
  const seen = new Set<string>();
  for (let at: string | undefined = key; at !== undefined && !seen.has(at);) {
    if (at === above) return true;
    seen.add(at);
    at = parentOf(at, sessions);
  }
  return false;
}

const parentOf = (key: string, sessions: Rows): string | undefined => sessions.peek(sessionKey(key))?.spawnedBy;

/** The kind of a session, in the field's terms. */
export function kindOf(key: SessionKey, defaultAgent: AgentId): SessionView["kind"] {
  const parsed = parseKey(key, defaultAgent);
  if (parsed.kind === "main" || (parsed.kind === "direct" && parsed.channel === "webchat")) return "main";
  if (parsed.kind === "group") return "group";
  const name = key.replace(/^agent:[^:]+:/, "");
  if (name.startsWith("cron:")) return "cron";
  return name.startsWith("hook:") ? "hook" : "other";
}
