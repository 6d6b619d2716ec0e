import { Contributions } from "../../plugins/contributions.ts";
import type { ChannelAdapter } from "../../types/chat/channel.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import type { WebMessage, WebClientPort } from "../../types/chat/web-clients.ts";
import type { LoadOptions } from "../config/load.ts";
import { BUNDLED } from "./bundled.ts";

/** Everything that the extensions which come with the gateway add to it. Loads none of their parts. */
export const bundled = new Contributions(BUNDLED);

/** What the config file is checked against in addition to the gateway's own schema. */
export async function contributedSchemas(
  contributions: Contributions,
): Promise<Required<Pick<LoadOptions, "channelSchemas" | "pluginSchemas" | "toolNames">>> {
  const channels = contributions.channels.map(async ({ id, config }) => [id, await config()] as const);
  return {
    channelSchemas: Object.fromEntries(await Promise.all(channels)),
    pluginSchemas: contributions.configSchemas,
    toolNames: contributions.tools.map(({ name }) => name),
  };
}

/** The channel that needs neither a platform nor a config. */
export const WEB_CHAT = "webchat";

export async function webChatFor(room: WebClientPort): Promise<ChannelAdapter> {
  const { webchat } = await import("../../../extensions/webchat/index.ts");
  return webchat(room);
}

/** A client's message as the web chat receives it, for a process without channels. */
export async function inboundOf(said: WebMessage): Promise<InboundMessage> {
  const channel = await import("../../../extensions/webchat/inbound.ts");
  return channel.inboundOf(said);
}
