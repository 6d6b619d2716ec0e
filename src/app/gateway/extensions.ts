import type { z } from "zod";
import type { ChannelAdapter } from "../../types/channel.ts";
import type { InboundMessage } from "../../types/message.ts";
import type { WebMessage, WebRoom } from "../../types/web-room.ts";

/** A channel that comes with the gateway. Neither part loads the platform's SDK: a channel that is off costs nothing. */
interface Bundled {
  config(): Promise<z.ZodType>;
  adapter(): Promise<ChannelAdapter>;
}

/** One row for each channel. */
const BUNDLED: Readonly<Record<string, Bundled>> = {
  discord: {
    config: async () => (await import("../../../extensions/discord/config.ts")).discordConfig,
    adapter: async () => (await import("../../../extensions/discord/index.ts")).discord,
  },
  signal: {
    config: async () => (await import("../../../extensions/signal/config.ts")).signalConfig,
    adapter: async () => (await import("../../../extensions/signal/index.ts")).signal,
  },
  slack: {
    config: async () => (await import("../../../extensions/slack/config.ts")).slackConfig,
    adapter: async () => (await import("../../../extensions/slack/index.ts")).slack,
  },
  telegram: {
    config: async () => (await import("../../../extensions/telegram/config.ts")).telegramConfig,
    adapter: async () => (await import("../../../extensions/telegram/index.ts")).telegram,
  },
  whatsapp: {
    config: async () => (await import("../../../extensions/whatsapp/config.ts")).whatsappConfig,
    adapter: async () => (await import("../../../extensions/whatsapp/index.ts")).whatsapp,
  },
};

const rowOf = (id: string): Bundled | undefined => (Object.hasOwn(BUNDLED, id) ? BUNDLED[id] : undefined);

/** Schemas of the bundled channels, for checking the config file. */
export async function channelSchemas(): Promise<Record<string, z.ZodType>> {
  const entries = Object.entries(BUNDLED).map(async ([id, bundled]) => [id, await bundled.config()] as const);
  return Object.fromEntries(await Promise.all(entries));
}

/** Undefined for a channel that nobody brings. */
export async function findAdapter(id: string): Promise<ChannelAdapter | undefined> {
  return rowOf(id)?.adapter();
}

export const bundledChannels: readonly string[] = Object.keys(BUNDLED);

/** The channel that needs no platform, and no config. */
export const WEB_CHAT = "webchat";

export async function webChatFor(room: WebRoom): Promise<ChannelAdapter> {
  const { webchat } = await import("../../../extensions/webchat/index.ts");
  return webchat(room);
}

/** A client's message as that channel gives it in, for a process that has no channels. */
export async function inboundOf(said: WebMessage): Promise<InboundMessage> {
  const channel = await import("../../../extensions/webchat/inbound.ts");
  return channel.inboundOf(said);
}
