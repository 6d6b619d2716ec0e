import type { Peer } from "openclaw/plugin-sdk";
import type { Slack } from "./transport/api.ts";

const MAX_ENTRIES = 500;

/** Chats by id; a person (`U…`) is the direct chat with them, which is opened when it is first asked for. */
export class ChannelIds {
  readonly #slack: Slack;
  readonly #opened = new Map<string, string>();

  constructor(slack: Slack) {
    this.#slack = slack;
  }

  /** Throws what the Web API client throws. */
  async of({ chat }: Peer): Promise<string> {
    return /^[UW]/.test(chat.id) ? this.ofPerson(chat.id) : chat.id;
  }

  /** Throws what the Web API client throws. */
  async ofPerson(person: string): Promise<string> {
    const known = this.#opened.get(person);
    if (known !== undefined) return known;
    const { channel } = await this.#slack.calls.conversations.open({ users: person });
    const id = channel?.id ?? person;
    if (this.#opened.size < MAX_ENTRIES) this.#opened.set(person, id);
    return id;
  }
}
