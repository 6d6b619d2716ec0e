import { BoundedMap, readOwnNote } from "openclaw/plugin-sdk";
import type { ChannelHost } from "openclaw/plugin-sdk";
import { z } from "zod";
import type { Api } from "./api.ts";
import { reasonOf } from "./failures.ts";
import { isId } from "./message-shape.ts";

const NOTE = "direct-channels";
const MOST = 500;
const noteShape = z.array(z.tuple([z.string(), z.string()]));

/**
 * The channels of direct chats, by person. Discord lists no direct chats for a bot, so this notes all chats that were
 * ever active: after a gap, missed messages are read from these.
 */
export class DirectChats {
  readonly #api: Api;
  readonly #host: ChannelHost;
  readonly #channels = new BoundedMap<string, string>(MOST);

  constructor(api: Api, host: ChannelHost) {
    this.#api = api;
    this.#host = host;
  }

  /** Reads the notes of an earlier connection. May throw. */
  async restore(): Promise<void> {
    const noted = (await readOwnNote(this.#host, NOTE, noteShape)) ?? [];
    for (const [person, channel] of noted) this.#channels.set(person, channel);
  }

  /** The most recent last. */
  entries(): readonly (readonly [person: string, channel: string])[] {
    return [...this.#channels];
  }

  /** Notes a direct chat. Resolves when it is noted; a failure is logged. */
  async remember(person: string, channel: string): Promise<void> {
    // The ids of an event are unchecked.
    if (!isId(person) || !isId(channel)) return;
    const isNew = this.#channels.get(person) !== channel;
    this.#channels.set(person, channel);
    if (!isNew) return;
    await this.#host.notes.set(NOTE, JSON.stringify(this.entries())).catch((error: unknown) => {
      this.#host.log.warn("a direct chat could not be noted", { error: String(error) });
    });
  }

  /** The channel of the chat with a person, where one is known. */
  known(person: string): string | undefined {
    return this.#channels.get(person);
  }

  /**
   * The right channel of the chat with a person, after Discord has refused the known one. Undefined when Discord
   * refused another channel than the known one, or when there is no better one. Never rejects.
   */
  async reopen(person: string, refused: string): Promise<string | undefined> {
    if (this.#channels.get(person) !== refused) return undefined;
    try {
      const id = await this.#open(person);
      return id === refused ? undefined : id;
    } catch (error) {
      this.#host.log.info("the direct chat with a person could not be opened again", { reason: reasonOf(error) });
      return undefined;
    }
  }

  /** Opens the chat where it is not known. Throws the errors of the API. */
  async channelOf(person: string): Promise<string> {
    return this.#channels.get(person) ?? this.#open(person);
  }

  async #open(person: string): Promise<string> {
    const body = { recipient_id: person };
    const { id } = await this.#api.ask<{ id: string }>("POST", "/users/@me/channels", { body });
    await this.remember(person, id);
    return id;
  }
}
