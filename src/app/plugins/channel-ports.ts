import { failedSend } from "../../channels/connection/failed-send.ts";
import type { DispatchSettings } from "../../dispatch/ports.ts";
import type { PluginChannelPorts, PluginRoute } from "../../plugins/ports.ts";
import { buildKey } from "../../sessions/keys.ts";
import type { Peer } from "../../types/chat/message.ts";
import type { Core } from "../compose/core.ts";

/** What the gateway lends to the channels of plugins. */
export const channelPorts = (core: Pick<Core, "media" | "ports">): PluginChannelPorts => ({
  saveMedia: (bytes, facts) => core.media.put(bytes, facts),
  routeOf: (from) => routeOf(core.ports.settings(), from),
  failedSend,
});

/** Those of a process without a gateway. */
export const noChannelPorts: PluginChannelPorts = {
  saveMedia: () => Promise.reject(needsGateway()),
  routeOf() {
    throw needsGateway();
  },
  failedSend,
};

const needsGateway = (): Error => new Error("only the running gateway can do this");

/** By the rules for messages, of which a route needs only the chat and its sender. */
function routeOf(rules: DispatchSettings, from: Peer): PluginRoute {
  const { id } = from.chat;
  const message = { id, eventKey: id, from, sender: { id }, text: "", media: [], mentionsBot: true, receivedAt: 0 };
  const sessionKey = rules.keyFor(message);
  const agentId = rules.agentOf(sessionKey);
  return { agentId, sessionKey, mainSessionKey: buildKey({ kind: "main", agentId }, rules.defaultAgent) };
}
