import { join } from "node:path";
import { accountConfig, defaultAccountIn, inputsFor, type AccountConfig } from "../../channels/config.ts";
import { makePrivateDir } from "../../store/disk.ts";
import type { ChannelLimits } from "../../types/chat/channel.ts";
import type { Peer } from "../../types/chat/message.ts";
import type { Config } from "../config/schema/schema.ts";
import { own } from "../../utils/own.ts";

/** Least characters of a text chunk: a shorter message would consist mostly of its label. */
const LEAST_TEXT = 100;

const made = new WeakMap<Config, Map<string, AccountConfig>>();

/** The account settings that apply to a chat; those of the channel when the config does not have the account. */
export function accountOf(config: Config, { channel, account }: Pick<Peer, "channel" | "account">): AccountConfig {
  const known = made.get(config) ?? new Map<string, AccountConfig>();
  made.set(config, known);
  const name = `${channel}\n${account}`;
  const found = known.get(name) ?? parseAccount(config, channel, account);
  known.set(name, found);
  return found;
}

/** The key path of an account: that of the channel when the account has no section of its own. */
export function accountKey(config: Config, { channel, account }: Pick<Peer, "channel" | "account">): string {
  const section = own(config.channels, channel);
  const hasOwn = section?.accounts !== undefined && own(section.accounts, account) !== undefined;
  return hasOwn ? `channels.${channel}.accounts.${account}` : `channels.${channel}`;
}

function parseAccount(config: Config, channel: string, account: string): AccountConfig {
  const [found] = inputsFor(own(config.channels, channel) ?? {}, [account]);
  return accountConfig.parse(found?.input ?? {});
}

/** The place of a message's conversation: its thread, or the chat when threads share the chat's conversation. */
export function placeOf(from: Peer, config: Config): Peer {
  if (from.thread === undefined || accountOf(config, from).thread.historyScope === "thread") return from;
  const { thread: _thread, ...chat } = from;
  return chat;
}

/** Id of a channel's default account, also when the config does not have the channel. */
export const defaultAccountOf = (config: Config, channel: string): string =>
  defaultAccountIn(own(config.channels, channel) ?? {});

export const isChannelOn = (config: Config, channel: string): boolean =>
  own(config.channels, channel)?.enabled === true;

/** The platform's limits, or lower ones from the config. */
export function lowerLimits(limits: ChannelLimits, account: AccountConfig): ChannelLimits {
  const { textChunkLimit, maxLinesPerMessage: lines = limits.lines, markdown } = account;
  const text = Math.min(limits.text, Math.max(LEAST_TEXT, textChunkLimit ?? limits.text));
  return {
    ...limits,
    text,
    ...(lines !== undefined && { lines }),
    ...(markdown.tables && { tables: markdown.tables }),
  };
}

/** Makes the private folder of an account's keys, such as a linked device's. */
export async function accountFolder(credentials: string, channel: string, account: string): Promise<string> {
  const folder = join(credentials, ...[channel, account].map(fileName));
  await makePrivateDir(folder);
  return folder;
}

const fileName = (id: string): string => encodeURIComponent(id).replaceAll(".", "%2E");
