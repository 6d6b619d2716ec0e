import { accountConfig, accountInputs, type AccountConfig } from "../channels/config.ts";
import type { ChannelLimits } from "../types/channel.ts";
import type { Peer } from "../types/message.ts";
import type { Config } from "./config/schema.ts";

/** Characters; shorter messages would be labels more than text. */
const LEAST_TEXT = 100;

const made = new WeakMap<Config, Map<string, AccountConfig>>();

/** What the core obeys of the account that a chat is on; all defaults for one that the config does not name. */
export function accountOf(config: Config, { channel, account }: Pick<Peer, "channel" | "account">): AccountConfig {
  const known = made.get(config) ?? new Map<string, AccountConfig>();
  made.set(config, known);
  const name = `${channel}\n${account}`;
  const found = known.get(name) ?? parseAccount(config, channel, account);
  known.set(name, found);
  return found;
}

function parseAccount(config: Config, channel: string, account: string): AccountConfig {
  const inputs = accountInputs(config.channels[channel] ?? {});
  return accountConfig.parse(inputs.find((input) => input.id === account)?.input ?? {});
}

/** The platform's limits, or less where the config says so. */
export function lowerLimits(limits: ChannelLimits, { textChunkLimit }: AccountConfig): ChannelLimits {
  if (textChunkLimit === undefined) return limits;
  return { ...limits, text: Math.min(limits.text, Math.max(LEAST_TEXT, textChunkLimit)) };
}
