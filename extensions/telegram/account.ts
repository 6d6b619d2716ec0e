import { BoundedMap, readOwnNote, type ChannelHost, type InboundMessage } from "openclaw/plugin-sdk";
import type { BotApi } from "./api.ts";
import type { TelegramConfig } from "./config.ts";
import type { OwnMessages } from "./own-messages.ts";
import type { Posts } from "./posts.ts";
import type { Message, Update } from "grammy/types";
import { newIn } from "./updates.ts";
import { z } from "zod";

/** A connected account: its settings, its bot and the facts about its chats. */
export interface Account {
  readonly bot: BotApi;
  readonly config: TelegramConfig;
  readonly host: ChannelHost;
  readonly migrations: GroupMigrations;
  readonly own: OwnMessages;
  readonly forums: Forums;
  readonly posts: Posts;
}

const MOST = 500;
const MOST_TOPICS = 2000;

/**
 * Supergroups with topics, as of their last messages. A message in the General topic has no thread id, like a message
 * of a group without topics. Only the "typing…" signal must distinguish the two.
 */
export class Forums {
  readonly #ids = new BoundedMap<string, true>(MOST);
  /** Names of topics by chat and topic. Telegram has no call for a topic's name. */
  readonly #topics = new BoundedMap<string, string>(MOST_TOPICS);

  record(update: Update): void {
    const message = newIn(update);
    if (message?.chat.type !== "supergroup") return;
    const id = String(message.chat.id);
    this.#ids.delete(id);
    if (message.chat.is_forum === true) this.#ids.set(id, true);
    this.#recordTopic(message);
  }

  /**
   * A message of a topic that answers none formally replies to the message that created the topic, which has its first
   * name.
   */
  #recordTopic({ chat, message_thread_id: topic, ...message }: Message): void {
    if (topic === undefined) return;
    const key = `${chat.id}:${topic}`;
    const changed = message.forum_topic_created?.name ?? message.forum_topic_edited?.name;
    const first = message.reply_to_message?.forum_topic_created?.name;
    if (changed !== undefined) this.#topics.set(key, changed);
    else if (first !== undefined && !this.#topics.has(key)) this.#topics.set(key, first);
  }

  /** Name of a topic; undefined until a message contained it. */
  topicName(chatId: number, topic: string): string | undefined {
    return this.#topics.get(`${chatId}:${topic}`);
  }

  has(chatId: number | string): boolean {
    return this.#ids.has(String(chatId));
  }
}

const NOTE = "moved";
const noteShape = z.record(z.string(), z.string());
const namedGroups = z.looseObject({ groups: z.record(z.string(), z.unknown()).catch({}) });

/**
 * Groups that became supergroups. Telegram gives such a group a new id. The gateway keeps the old one, and with it the conversation,
 * the entry in `groups` and waiting replies.
 */
export class GroupMigrations {
  readonly #host: ChannelHost;
  readonly #own: ReadonlySet<string>;
  #newIds = new Map<string, string>();

  constructor(config: TelegramConfig, host: ChannelHost) {
    this.#host = host;
    // A group that the config names by its new id is known by that id.
    this.#own = new Set(Object.keys(namedGroups.parse({ groups: {}, ...config }).groups));
  }

  /** Rejects when the notes cannot be read. */
  async begin(): Promise<void> {
    this.#newIds = new Map(Object.entries((await readOwnNote(this.#host, NOTE, noteShape)) ?? {}));
  }

  /** Notes the migration that a service message reports. Resolves when it is durable. */
  async record({ message }: Update): Promise<void> {
    if (message?.migrate_to_chat_id !== undefined) {
      await this.add(String(message.chat.id), String(message.migrate_to_chat_id));
    }
    if (message?.migrate_from_chat_id !== undefined) {
      await this.add(String(message.migrate_from_chat_id), String(message.chat.id));
    }
  }

  async add(from: string, to: string): Promise<void> {
    if (this.#newIds.get(from) === to) return;
    const known = new Map(this.#newIds).set(from, to);
    await this.#host.notes.set(NOTE, JSON.stringify(Object.fromEntries(known)));
    this.#newIds = known;
    this.#host.log.warn("a group became a supergroup with a new id", { from: Number(from), to: Number(to) });
  }

  /** A chat's present id on Telegram. */
  currentId(chatId: string): string {
    return this.#newIds.get(chatId) ?? chatId;
  }

  /** A message of a migrated group, with the group's old id. */
  withOldId(message: InboundMessage): InboundMessage {
    const { from } = message;
    if (this.#own.has(from.chat.id)) return message;
    const before = [...this.#newIds].find(([, to]) => to === from.chat.id)?.[0];
    return before === undefined ? message : { ...message, from: { ...from, chat: { ...from.chat, id: before } } };
  }
}
