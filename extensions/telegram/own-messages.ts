import { background, BoundedMap } from "openclaw/plugin-sdk";
import type { ChannelHost } from "openclaw/plugin-sdk";
import { z } from "zod";
import { readOwnNote } from "openclaw/plugin-sdk";

const NOTE = "own-messages";
const MOST = 1000;
/** After so many new ones they are noted; what a crash loses of them is only whose message somebody reacted to. */
const SAVE_EVERY = 20;

/** Between the ids and the topic of a message, where it stands in one. */
const IN_TOPIC = "#";

/** Which messages of groups are the bot's, and their topics: a reaction says neither of the message that it is put on. */
export class OwnMessages {
  readonly #host: ChannelHost;
  /** By chat and message; the topic is empty outside of topics. */
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
    // In a private chat everything that is not the person's is the bot's.
    if (!chatId.startsWith("-") && !chatId.startsWith("@")) return;
    this.#topics.set(`${chatId}:${messageId}`, String(topic ?? ""));
    this.#unsaved++;
    if (this.#unsaved >= SAVE_EVERY) background("note of own messages", this.save());
  }

  has(chatId: number, messageId: number): boolean {
    return this.#topics.has(`${chatId}:${messageId}`);
  }

  /** The topic of a message that is known to be the bot's and stands in one. */
  topicOf(chatId: number, messageId: number): string | undefined {
    return this.#topics.get(`${chatId}:${messageId}`) || undefined;
  }

  /** Never rejects. */
  async save(): Promise<void> {
    if (this.#unsaved === 0) return;
    this.#unsaved = 0;
    await this.#host.notes.set(NOTE, JSON.stringify([...this.#topics].map(noted))).catch((error: unknown) => {
      this.#host.log.info("the bot's own messages were not noted", { error: String(error) });
    });
  }
}

const noted = ([ids, topic]: readonly [string, string]): string => (topic === "" ? ids : `${ids}${IN_TOPIC}${topic}`);

function partsOf(note: string): [ids: string, topic: string] {
  const [ids = "", topic = ""] = note.split(IN_TOPIC);
  return [ids, topic];
}
