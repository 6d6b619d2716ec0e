import type { InboundMessage } from "../types/chat/message.ts";
import { own } from "../utils/own.ts";
import type { AccountConfig } from "./config.ts";

interface Entry {
  readonly systemPrompt?: string | undefined;
}
type Chat = Entry & { readonly topics?: Readonly<Record<string, Entry>> | undefined };
type Chats = Readonly<Record<string, Chat>>;

/**
 * The text that the operator adds to the system prompt in the chat of a message: that of the chat's entry, then that of its
 * topic. The entry `*` applies where an entry sets none; an empty text adds nothing. Undefined when there is no text. Pure.
 */
export function chatPrompt(config: AccountConfig, message: InboundMessage): string | undefined {
  const { chat, thread } = message.from;
  const { id, e164 } = message.sender;
  const isDirect = chat.kind === "direct";
  const ids = isDirect ? [chat.id, id, ...(e164 === undefined ? [] : [e164])] : [chat.id];
  const maps = isDirect ? [config.direct, config.dms] : groupMaps(config, message.guildId);
  const entries = entriesFor(maps, ids);
  const topics = entries.map((entry) => entry.topics ?? {});
  const parts = [promptOf(entries), thread === undefined ? undefined : promptOf(entriesFor(topics, [thread]))];
  const texts = parts.filter((part) => part !== undefined && part.trim() !== "");
  return texts.length === 0 ? undefined : texts.join("\n\n");
}

/** The entry `*` does not apply to a guild that has its own entry. */
function groupMaps({ groups, channels, guilds }: AccountConfig, guild: string | undefined): readonly Chats[] {
  const ofGuild = guild === undefined ? undefined : (own(guilds, guild) ?? own(guilds, "*"))?.channels;
  return [groups, channels, ...(ofGuild ? [ofGuild] : [])];
}

/** The entries of these ids, then those for all others. */
const entriesFor = <E>(maps: readonly Readonly<Record<string, E>>[], ids: readonly string[]): readonly E[] =>
  [...ids, "*"].flatMap((id) => maps.flatMap((map) => own(map, id) ?? []));

const promptOf = (entries: readonly Entry[]): string | undefined =>
  entries.find(({ systemPrompt }) => systemPrompt !== undefined)?.systemPrompt;
