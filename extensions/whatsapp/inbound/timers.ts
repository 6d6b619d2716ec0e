import { BoundedMap, readOwnNote } from "openclaw/plugin-sdk";
import type { ChannelHost } from "openclaw/plugin-sdk";
import { z } from "zod";

const NOTE = "timers";
const MOST = 2000;

const noteShape = z.record(z.string(), z.number());

/** The chats whose messages disappear, as the last message of each chat showed it. They outlive a restart. */
export class Timers {
  readonly #host: ChannelHost;
  #known: BoundedMap<string, number> | undefined;

  constructor(host: ChannelHost) {
    this.#host = host;
  }

  /** The seconds after which messages of the chat disappear; 0 when they stay, undefined when nothing was heard of it. Never rejects. */
  async of(chat: string): Promise<number | undefined> {
    return (await this.#read()).get(chat);
  }

  /** Resolves when it is durable, or could not be written: a message is worth more than its timer. */
  async note(chat: string, seconds: number): Promise<void> {
    const known = await this.#read();
    // Most chats have no timer, and need no note.
    if ((known.get(chat) ?? 0) === seconds) return;
    known.set(chat, seconds);
    await this.#host.notes.set(NOTE, JSON.stringify(Object.fromEntries(known))).catch((error: unknown) => {
      this.#host.log.warn("the timer of a chat could not be written", { error: String(error) });
    });
  }

  async #read(): Promise<BoundedMap<string, number>> {
    if (this.#known) return this.#known;
    try {
      const note = await readOwnNote(this.#host, NOTE, noteShape);
      this.#known ??= new BoundedMap(MOST, Object.entries(note ?? {}));
      return this.#known;
    } catch (error) {
      this.#host.log.warn("the timers of chats could not be read", { error: String(error) });
      return new BoundedMap(MOST);
    }
  }
}
