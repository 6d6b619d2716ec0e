import type { z } from "zod";
import type { ChannelAdapter } from "../../types/chat/channel.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import { contributions } from "./contributions.ts";
import type { WebMessage, WebClientPort } from "../../types/chat/web-clients.ts";

/** Schemas of the bundled channels, for checking the config file. */
export async function channelSchemas(): Promise<Record<string, z.ZodType>> {
  const entries = contributions.channels.map(async ({ id, config }) => [id, await config()] as const);
  return Object.fromEntries(await Promise.all(entries));
}

/** Undefined for a channel that nobody brings. */
export async function findAdapter(id: string): Promise<ChannelAdapter | undefined> {
  return contributions.channel(id)?.adapter();
}

export const bundledChannels: readonly string[] = contributions.channels.map(({ id }) => id);

/** The channel that needs no platform, and no config. */
export const WEB_CHAT = "webchat";

export async function webChatFor(room: WebClientPort): Promise<ChannelAdapter> {
  const { webchat } = await import("../../../extensions/webchat/index.ts");
  return webchat(room);
}

/** A client's message as that channel gives it in, for a process that has no channels. */
export async function inboundOf(said: WebMessage): Promise<InboundMessage> {
  const channel = await import("../../../extensions/webchat/inbound.ts");
  return channel.inboundOf(said);
}
