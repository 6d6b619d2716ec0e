import { Contributions } from "../../plugins/contributions.ts";
import type { ChannelAdapter } from "../../types/chat/channel.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import type { WebMessage, WebClientPort } from "../../types/chat/web-clients.ts";
import type { ChannelSchemas } from "../config/check.ts";
import { BUNDLED } from "./bundled.ts";

/** The ids of the bundled extensions; no plugin may have one of them. */
export const BUNDLED_IDS: ReadonlySet<string> = new Set([...BUNDLED.map(({ id }) => id), "webchat"]);

/** The contributions of all bundled extensions, for one process. Loads none of their adapters. */
export const bundledContributions = (): Contributions => new Contributions(BUNDLED);

/**
 * The schemas and tool names of contributions: `loadConfig` checks the file against these and the gateway's own schema.
 * `channelSchemas` loads the schemas of the channels that the file names.
 */
export const contributedSchemas = async (contributions: Contributions) => ({
  channelSchemas: async (named: readonly string[]) => channelSchemas(contributions, named),
  pluginSchemas: await contributions.configSchemas(),
  toolNames: contributions.toolNames,
});

async function channelSchemas({ channels }: Contributions, named: readonly string[]): Promise<ChannelSchemas> {
  const wanted = channels.filter(({ id }) => named.includes(id));
  return Object.fromEntries(await Promise.all(wanted.map(async ({ id, config }) => [id, await config()] as const)));
}

/** The channel that needs neither a platform nor a config. */
export const WEB_CHAT = "webchat";

export async function webChatFor(clients: WebClientPort): Promise<ChannelAdapter> {
  const { webchat } = await import("../../../extensions/webchat/index.ts");
  return webchat(clients);
}

/** Converts a client's message to an inbound message like the web chat, for a process that starts no channels. */
export async function webInbound(said: WebMessage): Promise<InboundMessage> {
  const channel = await import("../../../extensions/webchat/inbound.ts");
  return channel.inboundOf(said);
}
