import type { Peer } from "../types/chat/message.ts";
import { own } from "../utils/own.ts";

/** A chat that a person named. */
export interface ChatTarget {
  readonly chat: Pick<Peer["chat"], "kind" | "id">;
  readonly thread?: string;
}

const KINDS = new Map<string, Peer["chat"]["kind"]>([
  ["user", "direct"],
  ["direct", "direct"],
  ["dm", "direct"],
  ["group", "group"],
  ["channel", "group"],
  ["chat", "group"],
  ["room", "group"],
]);

/** Patterns of the ids of groups, per channel. On other channels, an id without a prefix belongs to a person. */
const GROUP_IDS: Readonly<Record<string, RegExp>> = {
  discord: /^/,
  signal: /^(?!\+|u:|uuid:|[0-9a-f]{8}-)/i,
  slack: /^[CG]/,
  telegram: /^[-@]/,
  whatsapp: /@g\.us$/,
};

/**
 * The chat that a text such as `+4930…`, `-1001…`, `user:U1`, `channel:C1`, `telegram:42` or `-1001…:topic:5` means. Undefined when
 * it contains no id.
 */
export function parseTarget(text: string, channel: string): ChatTarget | undefined {
  const own = text.trim();
  const prefix = own.toLowerCase().startsWith(`${channel}:`) ? channel.length + 1 : 0;
  const [whole = "", thread = ""] = own.slice(prefix).split(/:(?:topic|thread):/);
  const [, word = "", rest = ""] = /^([a-z]+):(.+)$/i.exec(whole) ?? [];
  const named = KINDS.get(word.toLowerCase());
  const id = named === undefined ? whole : rest;
  if (id === "") return undefined;
  return { chat: { kind: named ?? kindOf(id, channel), id }, ...(thread !== "" && { thread }) };
}

const kindOf = (id: string, channel: string): Peer["chat"]["kind"] =>
  own(GROUP_IDS, channel)?.test(id) === true ? "group" : "direct";

/** The channel that prefixes a target, if it is one of `channels`. */
export function channelIn(text: string, channels: readonly string[]): string | undefined {
  const word = /^([a-z]+):/i.exec(text.trim())?.[1]?.toLowerCase();
  return channels.find((channel) => channel === word);
}
