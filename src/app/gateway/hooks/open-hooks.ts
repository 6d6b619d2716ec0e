import { dirname, join, resolve } from "node:path";
import type { HookAct } from "../../../automation/hooks/acts.ts";
import type { HooksConfig } from "../../../automation/hooks/config.ts";
import { HookDesk } from "../../../automation/hooks/desk.ts";
import type { HookPlace } from "../../../automation/hooks/hook-message.ts";
import type { WebhookPaths } from "../../../server/options.ts";
import { buildKey, parseKey, resolveAlias } from "../../../sessions/keys.ts";
import { type AgentId, agentId, type SessionKey } from "../../../types/ids.ts";
import { chatFor } from "../cron/place.ts";
import { lastChat, mainKey, type PlaceParts } from "../parts/heartbeat-place.ts";
import type { Parts } from "../parts/parts.ts";
import { HookPaths } from "./hook-paths.ts";

type DeskParts = Pick<Parts, "live" | "core" | "channels" | "stopping">;

/** Opens the desk that begins turns which nobody in a chat has asked for. */
export function hookDesk({ live, core, channels, stopping }: DeskParts, config: () => HooksConfig): HookDesk {
  const places: PlaceParts = { live, channels, sessions: core.sessions };
  return new HookDesk({
    clock: core.ports.clock,
    journal: core.journal,
    config,
    placeOf: (act, session) => placeOfHook(act, session, places),
    receive: (messages) => core.dispatch.receive(messages),
    signal: stopping,
  });
}

/** Answers the requests of other programs, and those of platforms by `others`. */
export function openWebhooks(parts: DeskParts & Pick<Parts, "log">, others: WebhookPaths): WebhookPaths {
  const { live, core, log } = parts;
  const { clock } = core.ports;
  const config = () => live.config.hooks;
  const desk = hookDesk(parts, config);
  const folder = dirname(live.paths.configPath);
  const dir = () => resolve(folder, config().transformsDir ?? join("hooks", "transforms"));
  const hasAgent = (id: string) => live.agents.some((one) => one.id === id);
  return new HookPaths({ desk, clock, log, config, hasAgent, transforms: { clock, dir } }, others);
}

/**
 * The conversation in which the turn of a request runs and the chat to which it reports; a text is the reason why it
 * cannot.
 */
function placeOfHook(act: HookAct, session: string | undefined, parts: PlaceParts): HookPlace | string {
  const { id: defaultAgent } = parts.live.defaultAgent;
  const agent = agentId(act.agentId ?? defaultAgent);
  const sessionKey = session === undefined ? undefined : keyIn(session, agent, defaultAgent);
  const why = sessionKey === undefined ? undefined : whyNotIn(sessionKey, act, parts);
  if (why !== undefined) return why;
  if (act.kind === "wake") return placeOfWake(agent, sessionKey, parts);
  const key = sessionKey ?? keyIn("hook", agent, defaultAgent);
  if (!act.deliver) return { sessionKey: key };
  const { found, problem } = chatFor(
    { channel: act.channel, to: act.to, accountId: act.accountId },
    { agent, origin: undefined },
    parts,
  );
  // Nobody may have written yet: the answer is in the transcript then. A chat that was named must be there.
  if (!found && act.to !== undefined) return problem ?? "there is no such chat";
  return { sessionKey: key, ...(found && { to: found.to }) };
}

/** The session key of a text. A text without an agent is a key of the agent that the request is for. */
function keyIn(text: string, agent: AgentId, defaultAgent: AgentId): SessionKey {
  const key = text.startsWith("agent:") ? text : buildKey({ kind: "other", agentId: agent, text }, defaultAgent);
  return resolveAlias(key, defaultAgent);
}

function placeOfWake(agent: AgentId, sessionKey: SessionKey | undefined, parts: PlaceParts): HookPlace {
  const { found } = lastChat(agent, undefined, parts);
  if (sessionKey !== undefined) return { sessionKey, ...(found && { to: found.to }) };
  return found && found.to.channel !== "webchat"
    ? { sessionKey: found.key, to: found.to }
    : { sessionKey: mainKey(agent, parts.live.defaultAgent.id) };
}

/**
 * The reason why a conversation that a request or a template names may not have the turn; undefined when it may. The
 * conversation's key chooses the agent, too.
 */
function whyNotIn(
  key: SessionKey,
  { agentId: wanted }: HookAct,
  { live }: Pick<PlaceParts, "live">,
): string | undefined {
  const { kind, agentId: own } = parseKey(key, live.defaultAgent.id);
  if (kind === "subagent") return "sessionKey: it is that of a subagent";
  if (wanted !== undefined) return own === wanted ? undefined : "sessionKey: it belongs to another agent than agentId";
  if (own === live.defaultAgent.id) return undefined;
  const { allowedAgentIds: ids } = live.config.hooks;
  if (ids && !ids.includes("*") && !ids.includes(own)) return "sessionKey: its agent is none of hooks.allowedAgentIds";
  return live.agents.some(({ id }) => id === own) ? undefined : "sessionKey: there is no such agent";
}
