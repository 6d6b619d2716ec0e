import type { Config } from "../config/schema.ts";

/** Whether the config names an owner who can write in this channel. */
export const hasOwnerIn = (channel: string, config: Config): boolean =>
  config.commands.ownerAllowFrom.some((name) => isFor(channel, String(name), config));

/** A name without a channel before it is for every channel. */
function isFor(channel: string, name: string, { channels }: Config): boolean {
  const [prefix = ""] = name.split(":", 1);
  return prefix === channel || !name.includes(":") || !Object.hasOwn(channels, prefix);
}
