import { failedSend } from "../../channels/connection/failed-send.ts";
import { chatOf } from "../../sessions/chat-of.ts";
import type { DispatchPorts } from "../../dispatch/ports.ts";
import type { DispatchSettings } from "../../dispatch/settings.ts";
import type { CommandTarget, PluginChannelPorts, PluginRoute } from "../../plugins/ports.ts";
import { buildKey } from "../../sessions/keys.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { Peer } from "../../types/chat/message.ts";
import type { Core } from "../compose/core.ts";
import { runPorts } from "./event-ports.ts";

/** Ports of the gateway for the channels of plugins. */
export const channelPorts = (core: Pick<Core, "dispatch" | "media" | "ports">): PluginChannelPorts => ({
  ...runPorts(core),
  saveMedia: (bytes, facts) => core.media.put(bytes, facts),
  routeOf: (from) => routeOf(core.ports.settings(), from),
  commandTarget: (channel, key) => commandTarget(channel, key, core.ports),
  failedSend,
});

/** Ports for channels in a process without a gateway. */
export const noChannelPorts: PluginChannelPorts = {
  saveMedia: () => Promise.reject(needsGateway()),
  routeOf() {
    throw needsGateway();
  },
  commandTarget: () => undefined,
  failedSend,
  runsOf: async function* none() {},
  stopMessage: () => Promise.reject(needsGateway()),
};

const needsGateway = (): Error => new Error("only the running gateway can do this");

/** The route of a chat by the rules for messages, which need only the chat and its sender of a message. */
function routeOf(rules: DispatchSettings, from: Peer): PluginRoute {
  const { id } = from.chat;
  const message = { id, eventKey: id, from, sender: { id }, text: "", media: [], mentionsBot: true, receivedAt: 0 };
  const sessionKey = rules.keyFor(message);
  const agentId = rules.agentOf(sessionKey);
  const mainSessionKey = buildKey({ kind: "main", agentId }, rules.defaultAgent);
  return { agentId, sessionKey, mainSessionKey };
}

/**
 * The session and chat of a command that a channel gives; undefined for a chat of another channel: a channel commands
 * its own chats only.
 */
function commandTarget(
  channel: string,
  sessionKey: SessionKey,
  { storage: { sessions }, settings }: Pick<DispatchPorts, "storage" | "settings">,
): CommandTarget | undefined {
  const { defaultAgent } = settings();
  const deliverTo = chatOf(sessionKey, sessions.peek(sessionKey), defaultAgent);
  return deliverTo?.channel === channel ? { sessionKey, deliverTo } : undefined;
}
