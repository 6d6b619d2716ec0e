import type { Sender } from "openclaw/plugin-sdk";
import type { Slack } from "../transport/api.ts";
import { Cache } from "../cache.ts";
import type { NameLookup } from "./message-text.ts";

const KEEP_MS = 60 * 60_000;
const MAX_ENTRIES = 2000;

interface Person {
  readonly name: string | undefined;
  readonly username: string | undefined;
  readonly isBot: boolean;
}

/** The lookups of names. None rejects. */
export interface NameLookups extends NameLookup {
  sender(id: string): Promise<Sender>;
}

/** The names of people and channels, each requested once an hour at most. */
export class People {
  readonly #slack: Slack;
  readonly #people = new Cache<Person>(MAX_ENTRIES, KEEP_MS);
  readonly #channels = new Cache<string>(MAX_ENTRIES, KEEP_MS);

  constructor(slack: Slack) {
    this.#slack = slack;
  }

  /** Lookups that wait until an epoch millisecond. Afterwards they give the names that are known. */
  until(until: number): NameLookups {
    return {
      user: async (id) => (await this.#person(id, until))?.name,
      channel: (id) => this.#channel(id, until),
      sender: async (id) => {
        const person = await this.#person(id, until);
        return {
          id,
          ...(person?.name !== undefined && { name: person.name }),
          ...(person?.username !== undefined && { username: person.username }),
          ...(person?.isBot === true && { isBot: true }),
        };
      },
    };
  }

  async #channel(id: string, until: number): Promise<string | undefined> {
    const ask = async (): Promise<string | undefined> => {
      const { channel } = await this.#slack.calls.conversations.info({ channel: id });
      return channel?.name;
    };
    return this.#channels.get(id, ask, until);
  }

  async #person(id: string, until: number): Promise<Person | undefined> {
    const ask = async (): Promise<Person | undefined> => {
      const { user } = await this.#slack.calls.users.info({ user: id });
      if (!user) return undefined;
      const name = [user.profile?.display_name, user.real_name, user.name].find(Boolean);
      return { name, username: user.name, isBot: user.is_bot === true };
    };
    return this.#people.get(id, ask, until);
  }
}
