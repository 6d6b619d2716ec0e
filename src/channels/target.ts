import type { Peer } from "../types/chat/message.ts";
import { own } from "../utils/own.ts";

/** A chat as a person names it. */
export interface Target {
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

/** How the ids of groups look where the two kinds look different; elsewhere an id without a word before it is a person's. */
const GROUPS: Readonly<Record<string, RegExp>> = {
  discord: /^/,
  signal: /^(?!\+|u:|uuid:|[0-9a-f]{8}-)/i,
  slack: /^[CG]/,
  telegram: /^[-@]/,
  whatsapp: /@g\.us$/,
};

/**
 * `+4930…`, `-1001…`, `user:U1`, `channel:C1`, `telegram:42`, `-1001…:topic:5`: which chat of the channel is meant. Undefined
 * when there is no id in it.
 */
export function parseTarget(text: string, channel: string): Target | undefined {
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
  own(GROUPS, channel)?.test(id) === true ? "group" : "direct";

/** The channel that a target begins with, if it is one of these. */
export function channelIn(text: string, channels: readonly string[]): string | undefined {
  const word = /^([a-z]+):/i.exec(text.trim())?.[1]?.toLowerCase();
  return channels.find((channel) => channel === word);
}
