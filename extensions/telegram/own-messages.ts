import { background, BoundedMap } from "openclaw/plugin-sdk";
import type { ChannelHost } from "openclaw/plugin-sdk";
import { z } from "zod";
import { readOwnNote } from "openclaw/plugin-sdk";

const NOTE = "own-messages";
const MOST = 1000;
/**
 * Number of new messages that are collected before they are noted. After a crash, reactions to messages that were not
 * noted do not count as to the bot.
 */
const SAVE_EVERY = 20;

/** Separates the ids of a message from its topic. */
const TOPIC_SEPARATOR = "#";

/** The bot's own messages in groups, with their topics. Telegram's reactions do not include either. */
export class OwnMessages {
  readonly #host: ChannelHost;
  /** Topics by chat and message; the topic is empty outside of topics. */
  #topics = new BoundedMap<string, string>(MOST);
  #unsaved = 0;

  constructor(host: ChannelHost) {
    this.#host = host;
  }

  /** Rejects when the notes cannot be read. */
  async begin(): Promise<void> {
    const noted = await readOwnNote(this.#host, NOTE, z.array(z.string()));
    if (noted) this.#topics = new BoundedMap(MOST, noted.map(partsOf));
  }

  add(chatId: string, messageId: string, topic?: number): void {
    // In a private chat, every message that is not the person's is the bot's.
    if (!chatId.startsWith("-") && !chatId.startsWith("@")) return;
    this.#topics.set(`${chatId}:${messageId}`, String(topic ?? ""));
    this.#unsaved++;
    if (this.#unsaved >= SAVE_EVERY) background("note of own messages", this.save());
  }

  has(chatId: number, messageId: number): boolean {
    return this.#topics.has(`${chatId}:${messageId}`);
  }

  /** The topic of one of the bot's messages; undefined when the message is unknown or in no topic. */
  topicOf(chatId: number, messageId: number): string | undefined {
    return this.#topics.get(`${chatId}:${messageId}`) || undefined;
  }

  /** Notes the messages. Never rejects. */
  async save(): Promise<void> {
    if (this.#unsaved === 0) return;
    this.#unsaved = 0;
    await this.#host.notes.set(NOTE, JSON.stringify([...this.#topics].map(noted))).catch((error: unknown) => {
      this.#host.log.info("the bot's own messages were not noted", { error: String(error) });
    });
  }
}

const noted = ([ids, topic]: readonly [string, string]): string =>
  topic === "" ? ids : `${ids}${TOPIC_SEPARATOR}${topic}`;

function partsOf(note: string): [ids: string, topic: string] {
  const [ids = "", topic = ""] = note.split(TOPIC_SEPARATOR);
  return [ids, topic];
}
