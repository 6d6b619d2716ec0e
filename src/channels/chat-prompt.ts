import type { InboundMessage } from "../types/chat/message.ts";
import { own } from "../utils/own.ts";
import type { AccountConfig } from "./config.ts";

interface Entry {
  readonly systemPrompt?: string | undefined;
  readonly skills?: readonly string[] | undefined;
  readonly agentId?: string | undefined;
}
type Chat = Entry & { readonly topics?: Readonly<Record<string, Entry>> | undefined };
type Chats = Readonly<Record<string, Chat>>;

/**
 * The text that the operator adds to the system prompt in the chat of a message: that of the chat's entry, then that of its
 * topic. The entry `*` applies where an entry sets none; an empty text adds nothing. Undefined when there is no text. Pure.
 */
export function chatPrompt(config: AccountConfig, message: Place): string | undefined {
  const { chats, topics } = entriesOf(config, message);
  const texts = [promptOf(chats), promptOf(topics)].filter((part) => part !== undefined && part.trim() !== "");
  return texts.length === 0 ? undefined : texts.join("\n\n");
}

/** The only skills that are offered in the chat of a message; undefined when the config names none. Pure. */
export function chatSkills(config: AccountConfig, message: Place): readonly string[] | undefined {
  const { chats, topics } = entriesOf(config, message);
  const entries = [...topics, ...chats, ...[guildOf(config, message)].filter((guild) => guild !== undefined)];
  return entries.find(({ skills }) => skills !== undefined)?.skills;
}

/** The agent of the topic of a message. Pure. */
export const topicAgent = (config: AccountConfig, message: Place): string | undefined =>
  entriesOf(config, message).topics.find(({ agentId }) => agentId !== undefined)?.agentId;

type Place = Pick<InboundMessage, "from" | "sender" | "guildId">;

/** The entries of the chat of a message, and the entries of its topic, each before the entry `*`. */
function entriesOf(
  config: AccountConfig,
  message: Place,
): { readonly chats: readonly Chat[]; readonly topics: readonly Entry[] } {
  const { chat, thread } = message.from;
  const { id, e164 } = message.sender;
  const isDirect = chat.kind === "direct";
  const ids = isDirect ? [chat.id, id, ...(e164 === undefined ? [] : [e164])] : [chat.id];
  const maps: readonly Chats[] = isDirect ? [config.direct, config.dms] : groupMaps(config, message);
  const chats = entriesFor(maps, ids);
  const topics = chats.map((entry) => entry.topics ?? {});
  return { chats, topics: thread === undefined ? [] : entriesFor(topics, [thread]) };
}

/** The entry `*` does not apply to a guild that has its own entry. */
const guildOf = ({ guilds }: AccountConfig, { guildId }: Place) =>
  guildId === undefined ? undefined : (own(guilds, guildId) ?? own(guilds, "*"));

function groupMaps(config: AccountConfig, message: Place): readonly Chats[] {
  const ofGuild = guildOf(config, message)?.channels;
  return [config.groups, config.channels, ...(ofGuild ? [ofGuild] : [])];
}

/** The entries of these ids, then the entries for all other ids. */
const entriesFor = <E>(maps: readonly Readonly<Record<string, E>>[], ids: readonly string[]): readonly E[] =>
  [...ids, "*"].flatMap((id) => maps.flatMap((map) => own(map, id) ?? []));

const promptOf = (entries: readonly Entry[]): string | undefined =>
  entries.find(({ systemPrompt }) => systemPrompt !== undefined)?.systemPrompt;
