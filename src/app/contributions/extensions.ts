import { Contributions } from "../../plugins/contributions.ts";
import type { ChannelAdapter } from "../../types/chat/channel.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import type { WebMessage, WebClientPort } from "../../types/chat/web-clients.ts";
import type { ChannelSchemas } from "../config/check.ts";
import type { LoadOptions } from "../config/load.ts";
import { BUNDLED } from "./bundled.ts";

/** The ids of the bundled extensions; no plugin may have one of them. */
export const BUNDLED_IDS: ReadonlySet<string> = new Set([...BUNDLED.map(({ id }) => id), "webchat"]);

/** The contributions of all bundled extensions, for one process. Loads none of their adapters. */
export const bundledContributions = (): Contributions => new Contributions(BUNDLED);

/** The schemas and tool names of contributions: `loadConfig` checks the file against them and the gateway's own schema. */
export async function contributedSchemas(contributions: Contributions) {
  return {
    channelSchemas: await channelSchemas(contributions, () => true),
    ...(await otherSchemas(contributions)),
  };
}

/** The same for `loadConfig`, which loads the schemas of the channels that the file names. */
export async function schemasOnDemand(
  contributions: Contributions,
): Promise<Required<Pick<LoadOptions, "channelSchemas" | "pluginSchemas" | "toolNames">>> {
  return {
    channelSchemas: async (named) => channelSchemas(contributions, (id) => named.includes(id)),
    ...(await otherSchemas(contributions)),
  };
}

async function channelSchemas({ channels }: Contributions, isWanted: (id: string) => boolean): Promise<ChannelSchemas> {
  const wanted = channels.filter(({ id }) => isWanted(id));
  return Object.fromEntries(await Promise.all(wanted.map(async ({ id, config }) => [id, await config()] as const)));
}

const otherSchemas = async (contributions: Contributions) => ({
  pluginSchemas: await contributions.configSchemas(),
  toolNames: contributions.tools.map(({ name }) => name),
});

/** The channel that needs neither a platform nor a config. */
export const WEB_CHAT = "webchat";

export async function webChatFor(clients: WebClientPort): Promise<ChannelAdapter> {
  const { webchat } = await import("../../../extensions/webchat/index.ts");
  return webchat(clients);
}

/** Converts a client's message to an inbound message like the web chat, for a process that starts no channels. */
export async function inboundOf(said: WebMessage): Promise<InboundMessage> {
  const channel = await import("../../../extensions/webchat/inbound.ts");
  return channel.inboundOf(said);
}
