import type { InboundMessage } from "../types/chat/message.ts";
import type { ChatToolRules } from "../types/tool-policy.ts";
import { own } from "../utils/own.ts";
import type { AccountConfig } from "./config.ts";

type Entry = Omit<ChatToolRules, "key">;
type Chat = Entry & { readonly topics?: Readonly<Record<string, Entry>> | undefined };

/** A map of entries, with its place below the account. */
interface Place<E> {
  readonly key: string;
  readonly entries: Readonly<Record<string, E>> | undefined;
}

interface Found<E> {
  readonly key: string;
  readonly entry: E;
}

/**
 * Rules about tools in the account's config for the chat of a message: the server's entry, the chat's, and its topic's.
 * Each takes tools away. The entry `*` applies where the entry of an id sets nothing about tools. `account` is the key
 * path of the account. Pure.
 */
export function chatToolRules(
  config: AccountConfig,
  account: string,
  { from: { chat, thread }, sender, guildId }: Pick<InboundMessage, "from" | "sender" | "guildId">,
): readonly ChatToolRules[] {
  const isDirect = chat.kind === "direct";
  const ids = isDirect ? [chat.id, sender.id, ...(sender.e164 === undefined ? [] : [sender.e164])] : [chat.id];
  const guild = isDirect ? undefined : guildOf(config, account, guildId);
  const places = isDirect ? directPlaces(config, account) : groupPlaces(config, account, guild);
  const chats = foundIn(places, ids);
  const topics = chats.map(({ key, entry }) => ({ key: `${key}.topics`, entries: entry.topics }));
  const levels = [guild ? [guild] : [], chats, thread === undefined ? [] : foundIn<Entry>(topics, [thread])];
  return levels.flatMap((found) => firstWithTools(found));
}

type Guild = Found<Entry & { readonly channels?: Readonly<Record<string, Chat>> | undefined }>;

/** The entry `*` does not apply to a guild that has its own entry. */
function guildOf({ guilds }: AccountConfig, account: string, id: string | undefined): Guild | undefined {
  if (id === undefined) return undefined;
  const name = own(guilds, id) ? id : "*";
  const entry = own(guilds, name);
  return entry && { key: `${account}.guilds${keyOf(name)}`, entry };
}

const directPlaces = ({ direct, dms }: AccountConfig, account: string): readonly Place<Chat>[] => [
  { key: `${account}.direct`, entries: direct },
  { key: `${account}.dms`, entries: dms },
];

const groupPlaces = (
  { groups, channels }: AccountConfig,
  account: string,
  guild: Guild | undefined,
): readonly Place<Chat>[] => [
  { key: `${account}.groups`, entries: groups },
  { key: `${account}.channels`, entries: channels },
  ...(guild ? [{ key: `${guild.key}.channels`, entries: guild.entry.channels }] : []),
];

/** The entries of these ids, then the entries for all other ids. */
const foundIn = <E>(places: readonly Place<E>[], ids: readonly string[]): readonly Found<E>[] =>
  [...ids, "*"].flatMap((id) =>
    places.flatMap(({ key, entries }) => {
      const entry = entries && own(entries, id);
      return entry === undefined ? [] : [{ key: `${key}${keyOf(id)}`, entry }];
    }),
  );

const keyOf = (name: string): string => (/^[\w$-]+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`);

function firstWithTools(found: readonly Found<Entry>[]): readonly ChatToolRules[] {
  const first = found.find(({ entry: { tools, toolsBySender } }) => tools !== undefined || toolsBySender !== undefined);
  if (!first) return [];
  const { tools, toolsBySender } = first.entry;
  return [{ key: first.key, ...(tools && { tools }), ...(toolsBySender && { toolsBySender }) }];
}
