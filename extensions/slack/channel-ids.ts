import type { Peer } from "openclaw/plugin-sdk";
import type { Slack } from "./api.ts";

const MOST = 500;

/** Chats by id; a person (`U…`) is the direct chat with them, which is opened when it is first asked for. */
export class ChannelIds {
  readonly #slack: Slack;
  readonly #opened = new Map<string, string>();

  constructor(slack: Slack) {
    this.#slack = slack;
  }

  /** Throws what the Web API client throws. */
  async of({ chat }: Peer): Promise<string> {
    if (!/^[UW]/.test(chat.id)) return chat.id;
    const known = this.#opened.get(chat.id);
    if (known !== undefined) return known;
    const { channel } = await this.#slack.calls.conversations.open({ users: chat.id });
    const id = channel?.id ?? chat.id;
    if (this.#opened.size < MOST) this.#opened.set(chat.id, id);
    return id;
  }
}
