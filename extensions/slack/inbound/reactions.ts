import type { WebClient } from "@slack/web-api";
import { nameOf } from "./emoji.ts";
import { unless } from "../transport/failures.ts";

type Calls = WebClient["reactions"];

/** A message of a chat. */
export interface Target {
  readonly channel: string;
  readonly ts: string;
}

const MOST = 500;

/** Our emoji below messages: one at a time, as on the other platforms. */
export class Reactions {
  readonly #put = new Map<string, string>();
  readonly #self: () => string | undefined;

  constructor(self: () => string | undefined) {
    this.#self = self;
  }

  /** Puts an emoji in the place of ours; undefined takes it away. Throws what the Web API client throws. */
  async set(calls: Calls, at: Target, emoji: string | undefined): Promise<void> {
    const name = emoji === undefined ? undefined : (nameOf(emoji) ?? emoji);
    const before = this.#put.get(keyOf(at));
    const stale = before === undefined && name === undefined ? await this.#ours(calls, at) : [before ?? name];
    if (name !== undefined) await this.#add(calls, at, name);
    for (const old of stale) {
      if (old !== undefined && old !== name) await this.#remove(calls, at, old);
    }
  }

  async #add(calls: Calls, at: Target, name: string): Promise<void> {
    await calls
      .add({ channel: at.channel, timestamp: at.ts, name })
      .catch((error: unknown) => unless(error, "already_reacted"));
    this.#put.set(keyOf(at), name);
    const [oldest] = this.#put.keys();
    if (this.#put.size > MOST && oldest !== undefined) this.#put.delete(oldest);
  }

  async #remove(calls: Calls, at: Target, name: string): Promise<void> {
    await calls
      .remove({ channel: at.channel, timestamp: at.ts, name })
      .catch((error: unknown) => unless(error, "no_reaction", "message_not_found"));
    if (this.#put.get(keyOf(at)) === name) this.#put.delete(keyOf(at));
  }

  /** What we put there before this process began. */
  async #ours(calls: Calls, at: Target): Promise<readonly string[]> {
    const { message } = await calls.get({ channel: at.channel, timestamp: at.ts, full: true });
    const self = this.#self() ?? "";
    return (message?.reactions ?? []).flatMap(({ name, users }) =>
      name !== undefined && users?.includes(self) ? [name] : [],
    );
  }
}

const keyOf = ({ channel, ts }: Target): string => `${channel} ${ts}`;
