import type { ChannelHost, InboundMessage } from "openclaw/plugin-sdk";
import type { Update } from "grammy/types";
import { z } from "zod";
import type { TelegramConfig } from "../config.ts";
import { readOwnNote } from "openclaw/plugin-sdk";

const NOTE = "moved";
const noteShape = z.record(z.string(), z.string());
const namedGroups = z.looseObject({ groups: z.record(z.string(), z.unknown()).catch({}) });

/**
 * Groups that became supergroups. Inside, such a group keeps its old id, and with it its conversation, its entry in
 * `groups` and the replies that wait for it; on Telegram it has the new one.
 */
export class Moves {
  readonly #host: ChannelHost;
  readonly #own: ReadonlySet<string>;
  #now = new Map<string, string>();

  constructor(config: TelegramConfig, host: ChannelHost) {
    this.#host = host;
    // A group that the operator named by its new id is known by it.
    this.#own = new Set(Object.keys(namedGroups.parse({ groups: {}, ...config }).groups));
  }

  /** Rejects when the notes cannot be read. */
  async begin(): Promise<void> {
    this.#now = new Map(Object.entries((await readOwnNote(this.#host, NOTE, noteShape)) ?? {}));
  }

  /** Keeps what a service message tells. Resolves when it is durable. */
  async see({ message }: Update): Promise<void> {
    if (message?.migrate_to_chat_id !== undefined) {
      await this.add(String(message.chat.id), String(message.migrate_to_chat_id));
    }
    if (message?.migrate_from_chat_id !== undefined) {
      await this.add(String(message.migrate_from_chat_id), String(message.chat.id));
    }
  }

  async add(from: string, to: string): Promise<void> {
    if (this.#now.get(from) === to) return;
    const known = new Map(this.#now).set(from, to);
    await this.#host.notes.set(NOTE, JSON.stringify(Object.fromEntries(known)));
    this.#now = known;
    this.#host.log.warn("a group became a supergroup with a new id", { from: Number(from), to: Number(to) });
  }

  /** The id under which Telegram knows a chat. */
  onTelegram(chatId: string): string {
    return this.#now.get(chatId) ?? chatId;
  }

  /** A message from a moved group, as if the group had kept its id. */
  inside(message: InboundMessage): InboundMessage {
    const { from } = message;
    if (this.#own.has(from.chat.id)) return message;
    const before = [...this.#now].find(([, to]) => to === from.chat.id)?.[0];
    return before === undefined ? message : { ...message, from: { ...from, chat: { ...from.chat, id: before } } };
  }
}
