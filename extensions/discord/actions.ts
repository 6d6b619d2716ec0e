import type {
  APIChannel,
  APIEmoji,
  APIGuildMember,
  APIMessage,
  RESTPostAPIChannelMessageJSONBody,
} from "discord-api-types/v10";
import type {
  ChatActions,
  ChatFacts,
  Looked,
  Peer,
  Poll,
  ReadQuery,
  SearchQuery,
  SeenMessage,
  SendResult,
} from "openclaw/plugin-sdk";
import type { Bot } from "./bot.ts";
import { outcomeOf } from "./failures.ts";
import { isLater, timeOf } from "./places.ts";
import { messagesOf } from "./message-shape.ts";
import { nameOf, wholeText } from "./text.ts";
import { selfId } from "./bot.ts";
import { changeAt, NO_MENTIONS, targetOf } from "./send.ts";

/** Hours that a poll is open: Discord's default, and its maximum (docs.discord.com/developers/resources/poll). */
const POLL_HOURS = { usual: 24, most: 768 };
/** A public thread without a message, and minutes without a message after which a thread is archived. */
const PUBLIC_THREAD = 11;
const ARCHIVE_MINUTES = 1440;

/** Actions of a bot in a channel besides sending messages. */
export const actions = (bot: Bot): ChatActions => ({ ...changes(bot), ...questions(bot) });

function changes(bot: Bot): ChatActions {
  const { api } = bot;
  return {
    poll: (to, poll) => post(to, { poll: pollOf(poll) }, bot),
    sticker: (to, id) => post(to, { sticker_ids: [id] }, bot),
    pin: (to, messageId, isPinned) =>
      changeAt(to, bot, async (target) => {
        await api.act(isPinned ? "PUT" : "DELETE", `/channels/${target}/messages/pins/${messageId}`);
        return { kind: "sent", messageId };
      }),
    createThread: (to, { name, messageId }) =>
      changeAt(to, bot, async (target) => {
        const route = messageId === undefined ? "threads" : (`messages/${messageId}/threads` as const);
        const body = {
          name,
          auto_archive_duration: ARCHIVE_MINUTES,
          ...(messageId === undefined && { type: PUBLIC_THREAD }),
        };
        const thread = await api.ask<APIChannel>("POST", `/channels/${target}/${route}`, { body });
        return { kind: "sent", messageId: thread.id };
      }),
    renameThread: (to, name) =>
      changeAt(to, bot, async (target) => {
        await api.act("PATCH", `/channels/${target}`, { body: { name } });
        return { kind: "sent", messageId: target };
      }),
  };
}

function questions(bot: Bot): ChatActions {
  const { api } = bot;
  return {
    pins: (to) =>
      lookUp(to, bot, async (target) => {
        const found = await api.ask<{ items: { message: unknown }[] }>("GET", `/channels/${target}/messages/pins`);
        return seenOf(
          found.items.map(({ message }) => message),
          bot,
        );
      }),
    read: (to, query) => lookUp(to, bot, (target) => read(target, query, bot)),
    search: (to, query) => lookUp(to, bot, (target) => search(target, query, bot)),
    reactions: (to, messageId) =>
      lookUp(to, bot, async (target) => {
        const { reactions = [] } = await api.ask<APIMessage>("GET", `/channels/${target}/messages/${messageId}`);
        return reactions.map(({ emoji, count }) => ({ emoji: emojiName(emoji), count }));
      }),
    threads: (to) =>
      lookUp(to, bot, async (target) => {
        const guild = await guildOf(target, bot);
        const found = await api.ask<{ threads: APIChannel[] }>("GET", `/guilds/${guild}/threads/active`);
        const here = found.threads.filter((thread) => "parent_id" in thread && thread.parent_id === target);
        return here.map(({ id, name }) => ({ id, name: name ?? id }));
      }),
    member: (to, userId) => lookUp(to, bot, (target) => memberOf(target, userId, bot)),
    chat: (to) => lookUp(to, bot, async (target) => factsOf(await api.ask<APIChannel>("GET", `/channels/${target}`))),
    emojis: (to) =>
      lookUp(to, bot, async (target) => {
        const found = await api.ask<APIEmoji[]>("GET", `/guilds/${await guildOf(target, bot)}/emojis`);
        return found.map(emojiName);
      }),
  };
}

async function post(
  to: Peer,
  content: Pick<RESTPostAPIChannelMessageJSONBody, "poll" | "sticker_ids">,
  bot: Bot,
): Promise<SendResult> {
  return changeAt(to, bot, async (target) => {
    const body = { ...content, allowed_mentions: NO_MENTIONS };
    const message = await bot.api.ask<APIMessage>("POST", `/channels/${target}/messages`, { body });
    bot.known.own.set(message.id, true);
    return { kind: "sent", messageId: message.id };
  });
}

const pollOf = ({ question, options, isMulti, hours = POLL_HOURS.usual }: Poll) => ({
  question: { text: question },
  answers: options.map((text) => ({ poll_media: { text } })),
  allow_multiselect: isMulti,
  duration: Math.max(1, Math.min(POLL_HOURS.most, Math.ceil(hours))),
});

/** Asks about the channel that `to` means. Never rejects. */
async function lookUp<T>(to: Peer, bot: Bot, ask: (target: string) => Promise<T>): Promise<Looked<T>> {
  try {
    return { kind: "found", value: await ask(await targetOf(to, bot)) };
  } catch (error) {
    if (error instanceof NoServer) return { kind: "refused", reason: error.message };
    if (error instanceof NotIndexed) return { kind: "retry", reason: error.message, afterMs: error.afterMs };
    const outcome = outcomeOf(error);
    return outcome.kind === "sent" ? { kind: "unknown", reason: "no answer" } : outcome;
  }
}

class NoServer extends Error {}

class NotIndexed extends Error {
  readonly afterMs: number;

  constructor(seconds: number) {
    super("Discord still indexes the server");
    this.afterMs = seconds * 1000;
  }
}

/** Messages that one search gives at most. docs.discord.com/developers/resources/message#search-guild-messages */
const MOST_FOUND = 25;
const INDEXING_SECONDS = 5;

async function search(target: string, { text, limit, userId }: SearchQuery, bot: Bot): Promise<readonly SeenMessage[]> {
  const guild = await guildOf(target, bot);
  const query = {
    content: text,
    channel_id: target,
    limit: String(Math.min(limit, MOST_FOUND)),
    ...(userId !== undefined && { author_id: userId }),
  };
  const found = await bot.api.ask<{ messages?: unknown[][]; retry_after?: number }>(
    "GET",
    `/guilds/${guild}/messages/search`,
    { query },
  );
  if (!found.messages) throw new NotIndexed(found.retry_after ?? INDEXING_SECONDS);
  return seenOf(found.messages.flat(), bot);
}

async function guildOf(target: string, { api }: Bot): Promise<string> {
  const channel = await api.ask<APIChannel>("GET", `/channels/${target}`);
  if ("guild_id" in channel && channel.guild_id !== undefined) return channel.guild_id;
  throw new NoServer("the chat is not on a server");
}

async function read(target: string, { limit, before, after, around }: ReadQuery, bot: Bot) {
  // Discord takes one of the three.
  const span = [Object.entries({ around, before, after }).find(([, id]) => id !== undefined)].flatMap((one) =>
    one?.[1] === undefined ? [] : [[one[0], one[1]] as const],
  );
  const query = { limit: String(limit), ...Object.fromEntries(span) };
  const found = await bot.api.ask<unknown[]>("GET", `/channels/${target}/messages`, { query });
  return seenOf(found, bot).toSorted((a, b) => (isLater(a.id, b.id) ? 1 : -1));
}

function seenOf(messages: readonly unknown[], bot: Bot): readonly SeenMessage[] {
  const known = { roles: new Map<string, string>(), places: bot.places, selfId: selfId(bot) };
  return messagesOf(messages).map((message) => ({
    id: message.id,
    sender: nameOf(message.author),
    at: timeOf(message.id),
    text: wholeText(message, { ...known, users: message.mentions }),
    files: message.attachments.map(({ id, filename }) => filename ?? id),
  }));
}

const emojiName = ({ id, name }: Pick<APIEmoji, "id" | "name">): string =>
  id === null ? (name ?? "") : `<:${name ?? ""}:${id}>`;

async function memberOf(target: string, userId: string, bot: Bot): Promise<ChatFacts> {
  const route = `/guilds/${await guildOf(target, bot)}/members/${encodeURIComponent(userId)}` as const;
  const { user, nick, roles, joined_at: joined } = await bot.api.ask<APIGuildMember>("GET", route);
  return {
    id: user.id,
    username: user.username,
    name: nick ?? nameOf(user),
    bot: user.bot === true,
    roles: roles.join(" "),
    ...(joined !== null && { joined }),
  };
}

function factsOf(channel: APIChannel): ChatFacts {
  const topic = "topic" in channel && typeof channel.topic === "string" ? channel.topic : "";
  const guild = "guild_id" in channel ? channel.guild_id : undefined;
  return {
    id: channel.id,
    type: channel.type,
    ...(typeof channel.name === "string" && { name: channel.name }),
    ...(topic !== "" && { topic }),
    ...(guild !== undefined && { server: guild }),
  };
}
