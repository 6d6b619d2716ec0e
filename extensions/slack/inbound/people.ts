import type { Sender } from "openclaw/plugin-sdk";
import type { Slack } from "../transport/api.ts";
import { Cache } from "../cache.ts";
import type { NameLookup } from "./message-text.ts";

/** Slack wants an event acknowledged within three seconds; a name may take a part of them. */
const WAIT_MS = 1000;
const KEEP_MS = 60 * 60_000;
const MAX_ENTRIES = 2000;

interface Person {
  readonly name: string | undefined;
  readonly username: string | undefined;
  readonly isBot: boolean;
}

/** The names of people and channels, each requested once an hour at most. Never rejects. */
export class People implements NameLookup {
  readonly #slack: Slack;
  readonly #people = new Cache<Person>(MAX_ENTRIES, KEEP_MS);
  readonly #channels = new Cache<string>(MAX_ENTRIES, KEEP_MS);

  constructor(slack: Slack) {
    this.#slack = slack;
  }

  async user(id: string): Promise<string | undefined> {
    return (await this.#person(id))?.name;
  }

  async channel(id: string): Promise<string | undefined> {
    const ask = async (): Promise<string | undefined> => {
      const { channel } = await this.#slack.calls.conversations.info({ channel: id });
      return channel?.name;
    };
    return this.#channels.get(id, ask, WAIT_MS);
  }

  async sender(id: string): Promise<Sender> {
    const person = await this.#person(id);
    return {
      id,
      ...(person?.name !== undefined && { name: person.name }),
      ...(person?.username !== undefined && { username: person.username }),
      ...(person?.isBot === true && { isBot: true }),
    };
  }

  async #person(id: string): Promise<Person | undefined> {
    const ask = async (): Promise<Person | undefined> => {
      const { user } = await this.#slack.calls.users.info({ user: id });
      if (!user) return undefined;
      const name = [user.profile?.display_name, user.real_name, user.name].find(Boolean);
      return { name, username: user.name, isBot: user.is_bot === true };
    };
    return this.#people.get(id, ask, WAIT_MS);
  }
}
