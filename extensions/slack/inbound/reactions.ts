import type { WebClient } from "@slack/web-api";
import { BoundedMap } from "openclaw/plugin-sdk";
import { emojiName } from "./emoji.ts";
import { ignoreRefusal } from "../transport/failures.ts";

type Calls = WebClient["reactions"];

export interface MessageRef {
  readonly channel: string;
  readonly ts: string;
}

const MAX_ENTRIES = 500;

/** The bot's reactions to messages: one per message, as on the other platforms. */
export class Reactions {
  readonly #current = new BoundedMap<string, string>(MAX_ENTRIES);
  readonly #self: () => string | undefined;

  constructor(self: () => string | undefined) {
    this.#self = self;
  }

  /** Replaces the bot's reaction; undefined removes it. Throws the errors of the Web API client. */
  async set(calls: Calls, at: MessageRef, emoji: string | undefined): Promise<void> {
    const name = emoji === undefined ? undefined : (emojiName(emoji) ?? emoji);
    const before = this.#current.get(keyOf(at));
    const stale = before === undefined && name === undefined ? await this.#ours(calls, at) : [before ?? name];
    if (name !== undefined) await this.#add(calls, at, name);
    for (const old of stale) {
      if (old !== undefined && old !== name) await this.#remove(calls, at, old);
    }
  }

  async #add(calls: Calls, at: MessageRef, name: string): Promise<void> {
    await calls
      .add({ channel: at.channel, timestamp: at.ts, name })
      .catch((error: unknown) => ignoreRefusal(error, "already_reacted"));
    this.#current.set(keyOf(at), name);
  }

  async #remove(calls: Calls, at: MessageRef, name: string): Promise<void> {
    await calls
      .remove({ channel: at.channel, timestamp: at.ts, name })
      .catch((error: unknown) => ignoreRefusal(error, "no_reaction", "message_not_found"));
    if (this.#current.get(keyOf(at)) === name) this.#current.delete(keyOf(at));
  }

  /** The reactions that an earlier process added. */
  async #ours(calls: Calls, at: MessageRef): Promise<readonly string[]> {
    const { message } = await calls.get({ channel: at.channel, timestamp: at.ts, full: true });
    const self = this.#self() ?? "";
    return (message?.reactions ?? []).flatMap(({ name, users }) =>
      name !== undefined && users?.includes(self) ? [name] : [],
    );
  }
}

const keyOf = ({ channel, ts }: MessageRef): string => `${channel} ${ts}`;
