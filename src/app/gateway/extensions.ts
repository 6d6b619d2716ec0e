import type { z } from "zod";
import type { Prober } from "../../channels/checks.ts";
import type { ChannelAdapter } from "../../types/channel.ts";

/** The channels that come with the gateway. Config is checked without the platform's SDK; the adapter loads when it is on. */
const BUNDLED = {
  telegram: {
    config: async () => (await import("../../../extensions/telegram/config.ts")).telegramConfig,
    adapter: async () => (await import("../../../extensions/telegram/index.ts")).telegram,
  },
} as const satisfies Record<string, { config(): Promise<z.ZodType>; adapter(): Promise<unknown> }>;

/** Schemas of the bundled channels, for checking the config file. */
export async function channelSchemas(): Promise<Record<string, z.ZodType>> {
  const entries = Object.entries(BUNDLED).map(async ([id, bundled]) => [id, await bundled.config()] as const);
  return Object.fromEntries(await Promise.all(entries));
}

/** Undefined for a channel that nobody brings. */
export async function findAdapter(id: string): Promise<ChannelAdapter | undefined> {
  return id === "telegram" ? BUNDLED.telegram.adapter() : undefined;
}

/** Asks the platform who we are without connecting, for doctor. */
export async function findProber(id: string): Promise<Prober | undefined> {
  if (id !== "telegram") return undefined;
  const { probe, telegramConfig } = await import("../../../extensions/telegram/index.ts");
  return { probe: (config, signal) => probe(telegramConfig.parse(config), signal) };
}

export const bundledChannels: readonly string[] = Object.keys(BUNDLED);
