import type { ChannelHost } from "openclaw/plugin-sdk";
import { z } from "zod";

const NOTE = "own-messages";
const MOST = 1000;
/** After so many new ones they are noted; what a crash loses of them is only whose message somebody reacted to. */
const SAVE_EVERY = 20;

/** Which messages of groups are the bot's: a reaction does not say whose message it is put on. */
export class OwnMessages {
  readonly #host: ChannelHost;
  #ids = new Set<string>();
  #unsaved = 0;

  constructor(host: ChannelHost) {
    this.#host = host;
  }

  /** Rejects when the notes cannot be read. */
  async begin(): Promise<void> {
    const text = await this.#host.notes.get(NOTE);
    if (text !== undefined) this.#ids = new Set(z.array(z.string()).parse(JSON.parse(text)));
  }

  add(chatId: string, messageId: string): void {
    // In a private chat everything that is not the person's is the bot's.
    if (!chatId.startsWith("-") && !chatId.startsWith("@")) return;
    this.#ids.add(`${chatId}:${messageId}`);
    const [oldest] = this.#ids;
    if (this.#ids.size > MOST && oldest !== undefined) this.#ids.delete(oldest);
    this.#unsaved++;
    if (this.#unsaved >= SAVE_EVERY) void this.save();
  }

  has(chatId: number, messageId: number): boolean {
    return this.#ids.has(`${chatId}:${messageId}`);
  }

  /** Never rejects. */
  async save(): Promise<void> {
    if (this.#unsaved === 0) return;
    this.#unsaved = 0;
    await this.#host.notes.set(NOTE, JSON.stringify([...this.#ids])).catch((error: unknown) => {
      this.#host.log.info("the bot's own messages were not noted", { error: String(error) });
    });
  }
}
