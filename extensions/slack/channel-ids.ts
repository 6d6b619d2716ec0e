import { BoundedMap } from "openclaw/plugin-sdk";
import type { Peer } from "openclaw/plugin-sdk";
import type { Slack } from "./transport/api.ts";

const MAX_ENTRIES = 500;

/** Ids of direct chats begin with D (docs.slack.dev/reference/objects/conversation-object). */
export const isDirect = (channel: string): boolean => channel.startsWith("D");

/** Whether an id is a person's: such an id names the direct chat with the person. */
export const isPerson = (id: string): boolean => /^[UW]/.test(id);

/**
 * The ids of chats. The id of a person (`U…`) means the direct chat with them, which is opened when it is first needed. A name such as
 * `#general` is known once a message was sent to it.
 */
export class ChannelIds {
  readonly #slack: Slack;
  readonly #opened = new BoundedMap<string, string>(MAX_ENTRIES);

  constructor(slack: Slack) {
    this.#slack = slack;
  }

  /** The channel of a chat. Throws the errors of the Web API client. */
  async of({ chat }: Peer): Promise<string> {
    return isPerson(chat.id) ? this.ofPerson(chat.id) : (this.#opened.get(chat.id) ?? chat.id);
  }

  /** Notes the id that Slack gave for the name of a chat. */
  note(name: string, id: string): void {
    if (name !== id) this.#opened.set(name, id);
  }

  /** The channel of a person's direct chat. Throws the errors of the Web API client. */
  async ofPerson(person: string): Promise<string> {
    const known = this.#opened.get(person);
    if (known !== undefined) return known;
    const { channel } = await this.#slack.calls.conversations.open({ users: person });
    const id = channel?.id ?? person;
    this.#opened.set(person, id);
    return id;
  }
}
