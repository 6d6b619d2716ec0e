import type {
  APIChannel,
  APIGuild,
  APIGuildMember,
  APIRole,
  GatewayDispatchPayload,
  GatewayGuildCreateDispatchData,
} from "discord-api-types/v10";
import { BoundedMap } from "openclaw/plugin-sdk";
import type { AccountId, Peer } from "openclaw/plugin-sdk";
import type { Api } from "./api.ts";
import { DISCORD } from "./config.ts";
import { isRefused } from "./failures.ts";

/** Facts about a channel or thread. */
export interface Place {
  readonly id: string;
  readonly kind: "direct" | "channel" | "thread" | "post";
  readonly name?: string;
  readonly guildId?: string;
  /** Channel of a thread, forum of a post. */
  readonly parentId?: string;
  /** The other person of a direct chat. */
  readonly personId?: string;
  readonly lastMessageId?: string;
}

interface Guild {
  readonly roles: Map<string, string>;
  /** Ids of the bot's own roles. */
  readonly own: readonly string[];
}

/** A channel's fields in events, interactions and REST; no source has all fields. */
interface ChannelFacts {
  readonly id: string;
  readonly type: number;
  readonly name?: string | null;
  readonly guild_id?: string | undefined;
  readonly parent_id?: string | null | undefined;
  readonly last_message_id?: string | null | undefined;
  readonly recipients?: readonly { readonly id: string }[] | undefined;
}

/** A channel as an event names it. */
interface Where {
  readonly id: string;
  readonly guildId?: string;
  /** Facts about the channel in the event. */
  readonly facts?: Omit<ChannelFacts, "id">;
}

type Asking = Pick<Api, "ask">;

/** Type of the channel of a direct chat. docs.discord.com/developers/resources/channel#channel-object-channel-types */
export const DM = 1;
const CATEGORY = 4;
const FORUMS = new Set([15, 16]);
const THREADS = new Set([10, 11, 12]);
const MOST_PLACES = 10_000;

/** Channels and roles, from the gateway's events, else from Discord's API. Kept small: this is no cache of Discord. */
export class Places {
  readonly #places = new BoundedMap<string, Place>(MOST_PLACES);
  readonly #forums = new Set<string>();
  readonly #guilds = new Map<string, Guild>();

  /** Notes the facts of an event about channels, roles and the bot. */
  learn(event: GatewayDispatchPayload, selfId: string | undefined): void {
    switch (event.t) {
      case "GUILD_CREATE":
        return this.#guild(event.d, selfId);
      case "CHANNEL_CREATE":
      case "CHANNEL_UPDATE":
      case "THREAD_CREATE":
      case "THREAD_UPDATE":
        return void this.note(event.d);
      case "CHANNEL_DELETE":
      case "THREAD_DELETE":
        return void this.#places.delete(event.d.id);
      case "MESSAGE_CREATE":
        return this.#latest(event.d.channel_id, event.d.id);
      default:
        return this.#roles(event, selfId);
    }
  }

  /** Notes a channel. */
  note(channel: ChannelFacts, guildId?: string): Place {
    if (FORUMS.has(channel.type)) this.#forums.add(channel.id);
    const place = this.#placeOf(channel, channel.guild_id ?? guildId);
    if (channel.type !== CATEGORY) this.#places.set(channel.id, place);
    return place;
  }

  /** Whether the id is known as a channel or a thread. */
  has(id: string): boolean {
    return this.#places.get(id) !== undefined;
  }

  /** A channel that is known as the direct chat with a person. */
  direct(id: string): Place | undefined {
    const place = this.#places.get(id);
    return place?.kind === "direct" ? place : undefined;
  }

  /**
   * The channel of an id; the event's facts about it where the bot may not see it. Throws when Discord does not answer.
   */
  async find({ id, guildId, facts }: Where, api: Asking): Promise<Place> {
    const known = this.#places.get(id);
    if (known) return known;
    try {
      const channel = await api.ask<APIChannel & ChannelFacts>("GET", `/channels/${id}`);
      const { parent_id: parent } = channel;
      if (THREADS.has(channel.type) && parent != null) await this.find({ id: parent, ...given({ guildId }) }, api);
      return this.note(channel, guildId);
    } catch (error) {
      if (!isRefused(error)) throw error;
      // The place is not noted: the bot may see the channel later. Discord brings a bot no messages of other chats
      // without a server.
      if (facts) return this.#placeOf({ ...facts, id }, guildId);
      return { id, kind: guildId === undefined ? "direct" : "channel", ...given({ guildId }) };
    }
  }

  /** The bot's roles and the names of all roles in one guild. Throws when Discord does not answer. */
  async guild(id: string, selfId: string, api: Asking): Promise<Guild> {
    const known = this.#guilds.get(id);
    if (known) return known;
    try {
      const { roles } = await api.ask<APIGuild>("GET", `/guilds/${id}`);
      const { roles: own } = await api.ask<APIGuildMember>("GET", `/guilds/${id}/members/${selfId}`);
      return this.#keep(id, roles, own);
    } catch (error) {
      if (!isRefused(error)) throw error;
      return { roles: new Map(), own: [] };
    }
  }

  /** Channels of guilds with a message after this one, the most recent first. */
  since(messageId: string): readonly Place[] {
    return [...this.#places.values()]
      .filter(({ lastMessageId }) => lastMessageId !== undefined && isLater(lastMessageId, messageId))
      .toSorted((a, b) => (isLater(a.lastMessageId ?? "0", b.lastMessageId ?? "0") ? -1 : 1));
  }

  name(id: string): string | undefined {
    return this.#places.get(id)?.name;
  }

  #guild(guild: GatewayGuildCreateDispatchData, selfId: string | undefined): void {
    if (guild.unavailable) return;
    for (const channel of [...guild.channels, ...guild.threads]) this.note(channel, guild.id);
    const self = guild.members.find(({ user }) => user.id === selfId);
    if (self) this.#keep(guild.id, guild.roles, self.roles);
  }

  #roles(event: GatewayDispatchPayload, selfId: string | undefined): void {
    switch (event.t) {
      case "GUILD_DELETE":
        return void this.#guilds.delete(event.d.id);
      case "GUILD_ROLE_CREATE":
      case "GUILD_ROLE_UPDATE":
        return void this.#guilds.get(event.d.guild_id)?.roles.set(event.d.role.id, event.d.role.name);
      case "GUILD_ROLE_DELETE":
        return void this.#guilds.get(event.d.guild_id)?.roles.delete(event.d.role_id);
      case "GUILD_MEMBER_UPDATE":
        if (event.d.user.id === selfId) this.#own(event.d.guild_id, event.d.roles);
        return;
      default:
    }
  }

  #keep(id: string, roles: readonly APIRole[], own: readonly string[]): Guild {
    const guild = { roles: new Map(roles.map((role) => [role.id, role.name])), own };
    this.#guilds.set(id, guild);
    return guild;
  }

  #own(guildId: string, own: readonly string[]): void {
    const guild = this.#guilds.get(guildId);
    if (guild) this.#guilds.set(guildId, { ...guild, own });
  }

  #latest(channelId: string, lastMessageId: string): void {
    const place = this.#places.get(channelId);
    if (place) this.#places.set(channelId, { ...place, lastMessageId });
  }

  #placeOf(channel: ChannelFacts, guildId: string | undefined): Place {
    const { id, name, parent_id: parentId, last_message_id: lastMessageId, recipients } = channel;
    const personId = channel.type === DM ? recipients?.[0]?.id : undefined;
    return {
      id,
      kind: this.#kindOf(channel),
      ...(name != null && { name }),
      ...(guildId !== undefined && { guildId }),
      ...(parentId != null && { parentId }),
      ...(lastMessageId != null && { lastMessageId }),
      ...(personId !== undefined && { personId }),
    };
  }

  #kindOf({ type, parent_id: parent }: ChannelFacts): Place["kind"] {
    if (type === DM) return "direct";
    if (!THREADS.has(type)) return "channel";
    return parent != null && this.#forums.has(parent) ? "post" : "thread";
  }
}

const given = ({ guildId }: { guildId: string | undefined }): { guildId?: string } =>
  guildId === undefined ? {} : { guildId };

/** Ids of Discord count up with time. */
export const isLater = (id: string, than: string): boolean => BigInt(id) > BigInt(than);

/** The first id of an epoch millisecond. docs.discord.com/developers/reference#snowflakes */
export const idAt = (ms: number): string => String(BigInt(Math.max(0, Math.floor(ms) - 1_420_070_400_000)) << 22n);

export const timeOf = (id: string): number => Number(BigInt(id) >> 22n) + 1_420_070_400_000;

/** Where an answer goes. A direct chat has the id of its person, a thread belongs to its channel. */
export function peerOf(place: Place, places: Places, context: { account: AccountId; personId: string }): Peer {
  const where = { channel: DISCORD, account: context.account };
  if (place.kind === "direct") return { ...where, chat: { kind: "direct", id: place.personId ?? context.personId } };
  const inThread = place.kind !== "channel" && place.parentId !== undefined;
  const id = inThread ? place.parentId : place.id;
  const name = inThread ? places.name(id) : place.name;
  const chat = { kind: "group" as const, id, ...(name !== undefined && { title: `#${name}` }) };
  return { ...where, chat, ...(inThread && { thread: place.id }) };
}
