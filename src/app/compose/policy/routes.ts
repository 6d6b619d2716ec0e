import { mentionPatterns, type MentionPattern } from "../../../channels/access/mention-pattern.ts";
import { bindingFor, type Binding, type Routed } from "../../../channels/bindings.ts";
import { broadcastTo } from "../../../channels/broadcast.ts";
import type { Broadcast } from "../../../dispatch/ports.ts";
import { keyForPeer } from "../../../sessions/keys.ts";
import type { InboundMessage } from "../../../types/chat/message.ts";
import { agentId, type AgentId, type SessionKey } from "../../../types/ids.ts";
import { defaultAccountOf, placeOf } from "../../accounts/accounts.ts";
import type { Config } from "../../config/schema.ts";
import type { Live } from "../live.ts";

/** The session of a message, by the bindings. */
export function keyFor(message: InboundMessage, config: Config, defaultAgent: AgentId): SessionKey {
  return keyOf(message, config, { agent: routeOf(message, config)?.agentId ?? defaultAgent, defaultAgent });
}

/** `broadcast` counts before the bindings. */
export function broadcastOf(message: InboundMessage, config: Config, defaultAgent: AgentId): Broadcast | undefined {
  const agents = broadcastTo(config.broadcast, message);
  if (agents.length === 0) return undefined;
  const keys = agents.map((agent) => keyOf(message, config, { agent, defaultAgent }));
  return { strategy: config.broadcast.strategy, keys };
}

function keyOf(
  message: InboundMessage,
  config: Config,
  { agent, defaultAgent }: { readonly agent: string; readonly defaultAgent: AgentId },
): SessionKey {
  const dmScope = routeOf(message, config)?.session?.dmScope;
  return keyForPeer(placeOf(message.from, config), message.sender, {
    ...config.session,
    ...(dmScope && { dmScope }),
    agentId: agentId(agent),
    defaultAgent,
  });
}

/** The mention patterns of the agent that answers; undefined if it has none of its own. */
export function mentionPatternsFor(
  message: Routed,
  { config, defaultAgent }: Live,
): readonly MentionPattern[] | undefined {
  const id = routeOf(message, config)?.agentId ?? defaultAgent.id;
  const patterns = config.agents.list.find((agent) => agent.id === id)?.groupChat.mentionPatterns;
  return patterns && mentionPatterns(patterns);
}

function routeOf(message: Routed, config: Config): Binding | undefined {
  if (config.bindings.length === 0) return undefined;
  return bindingFor(config.bindings, message, defaultAccountOf(config, message.from.channel));
}
