import { broadcastTo } from "../../../channels/routing/broadcast.ts";
import type { Broadcast } from "../../../dispatch/settings.ts";
import { keyForPeer } from "../../../sessions/keys.ts";
import type { InboundMessage } from "../../../types/chat/message.ts";
import { agentId, type AgentId, type SessionKey } from "../../../types/ids.ts";
import { placeOf } from "../../accounts/accounts.ts";
import type { Config } from "../../config/schema.ts";
import { agentFor, routeOf } from "./mentions.ts";

/** The session of a message, by the bindings. */
export function keyFor(message: InboundMessage, config: Config, defaultAgent: AgentId): SessionKey {
  return keyOf(message, config, { agent: agentFor(message, config) ?? defaultAgent, defaultAgent });
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
