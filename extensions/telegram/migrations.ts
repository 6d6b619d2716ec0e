import type { ChannelHost, InboundMessage } from "openclaw/plugin-sdk";
import type { Update } from "grammy/types";
import { z } from "zod";
import type { TelegramConfig } from "./config.ts";
import { readOwnNote } from "openclaw/plugin-sdk";

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
