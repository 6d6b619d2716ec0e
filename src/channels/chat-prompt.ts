import type { InboundMessage } from "../types/chat/message.ts";
import { own } from "../utils/own.ts";
import type { AccountConfig } from "./config.ts";

interface Entry {
  readonly systemPrompt?: string | undefined;
}
type Chat = Entry & { readonly topics?: Readonly<Record<string, Entry>> | undefined };
type Chats = Readonly<Record<string, Chat>>;

/**
 * What the operator adds to the system prompt of a message's chat: the words of its entry, then those of its topic. What an
 * entry leaves unset, the entry `*` says; an empty text adds nothing. Undefined when there are no words. Pure.
 */
export function chatPrompt(config: AccountConfig, message: InboundMessage): string | undefined {
  const { chat, thread } = message.from;
  const { id, e164 } = message.sender;
  const isDirect = chat.kind === "direct";
  const ids = isDirect ? [chat.id, id, ...(e164 === undefined ? [] : [e164])] : [chat.id];
  const maps = isDirect ? [config.direct, config.dms] : groupMaps(config, message.guildId);
  const entries = entriesFor(maps, ids);
  const topics = entries.map((entry) => entry.topics ?? {});
  const parts = [wordsOf(entries), thread === undefined ? undefined : wordsOf(entriesFor(topics, [thread]))];
  const words = parts.filter((part) => part !== undefined && part.trim() !== "");
  return words.length === 0 ? undefined : words.join("\n\n");
}

/** A server with a list of its own is no other one. */
function groupMaps({ groups, channels, guilds }: AccountConfig, guild: string | undefined): readonly Chats[] {
  const ofGuild = guild === undefined ? undefined : (own(guilds, guild) ?? own(guilds, "*"))?.channels;
  return [groups, channels, ...(ofGuild ? [ofGuild] : [])];
}

/** The entries of these ids, then those of all others. */
const entriesFor = <E>(maps: readonly Readonly<Record<string, E>>[], ids: readonly string[]): readonly E[] =>
  [...ids, "*"].flatMap((id) => maps.flatMap((map) => own(map, id) ?? []));

const wordsOf = (entries: readonly Entry[]): string | undefined =>
  entries.find(({ systemPrompt }) => systemPrompt !== undefined)?.systemPrompt;
