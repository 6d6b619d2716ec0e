import { background, BoundedMap } from "openclaw/plugin-sdk";
import type { ChannelLog } from "openclaw/plugin-sdk";
import type { Slack } from "../transport/api.ts";
import { byThen } from "../cache.ts";
import { isDirect } from "../channel-ids.ts";
import type { ChannelIds } from "../channel-ids.ts";
import type { SlackConfig } from "../config.ts";
import type { Interaction, SlackCommand } from "../events.ts";
import { reasonOf, errorCodeOf } from "../transport/failures.ts";
import { isSlackUrl } from "./media.ts";

const MAX_ENTRIES = 100;
const MAX_CHATS = 1000;
/** Slack's errors for a chat that the bot is not in: a channel, or the direct chat of two others. */
const OUTSIDE = new Set(["channel_not_found", "not_in_channel"]);

const ANSWERED_DIRECTLY =
  "I am not in this chat, so my answer comes in our direct chat. To get answers here, `/invite` me if this chat allows it.";
const INVITE = "I am not in this chat, so I cannot answer here. `/invite` me, or write to me directly.";

const PRIVATE = "My answer comes in our direct chat, where only you see it.";
const NO_DIRECT_CHAT =
  "I answer this command in our direct chat alone, and could not open it. Please write to me directly.";

type Answerable = Pick<SlackCommand, "trigger_id" | "response_url">;

/** Slash commands from chats that the bot is not in, where it cannot answer, and what Slack brings that is nothing for an agent. */
export class OutsideCommands {
  readonly #slack: Slack;
  readonly #config: Pick<SlackConfig, "apiUrl" | "timeoutSeconds">;
  readonly #log: ChannelLog;
  readonly #channelIds: ChannelIds;
  /** The commands whose senders were informed. Slack may deliver a command again. */
  readonly #informed = new BoundedMap<string, true>(MAX_ENTRIES);
  /** Direct chats of which an event came: they are the bot's. */
  readonly #own = new BoundedMap<string, true>(MAX_CHATS);

  constructor(slack: Slack, channelIds: ChannelIds, { config, log }: { config: SlackConfig; log: ChannelLog }) {
    this.#slack = slack;
    this.#channelIds = channelIds;
    this.#config = config;
    this.#log = log;
  }

  /**
   * The direct chat for the answer to a command from a chat that the bot is not in. Its sender is informed. Undefined when the bot
   * is in the chat, and when Slack does not say of a channel in time; a direct chat may be that of two others, so the answer is for
   * the sender then. Never rejects.
   */
  async directChatFor(command: SlackCommand, until: number): Promise<string | undefined> {
    const { channel_id: channel, user_id: user } = command;
    if (this.#own.has(channel)) return undefined;
    const isOutside = await byThen(this.#isOutside(channel), until);
    if (isOutside === undefined) return isDirect(channel) ? user : undefined;
    if (!isOutside) return undefined;
    const directChat = await byThen(this.#open(user), until);
    if (!this.#informed.has(command.trigger_id))
      background("answer to a command", this.#inform(command, directChat === undefined ? INVITE : ANSWERED_DIRECTLY));
    return directChat;
  }

  /**
   * The direct chat for the answer to a command that is answered in private. Its sender is informed, also when Slack opens none in
   * time: the result is undefined then. Never rejects.
   */
  async privateChatFor(command: SlackCommand, until: number): Promise<string | undefined> {
    const directChat = await byThen(this.#open(command.user_id), until);
    this.refuse(command, directChat === undefined ? NO_DIRECT_CHAT : PRIVATE);
    return directChat;
  }

  /** Informs the sender of something that is nothing for an agent, in a note that only the sender sees. */
  refuse({ trigger_id: trigger, response_url: address }: Interaction, text: string): void {
    if (trigger == null || this.#informed.has(trigger)) return;
    background("answer to an interaction", this.#inform({ trigger_id: trigger, response_url: address }, text));
  }

  /** Notes a chat of which an event came: Slack sends a bot events of no direct chats but its own. */
  heardFrom(channel: string): void {
    if (isDirect(channel)) this.#own.set(channel, true);
  }

  /** Undefined when Slack does not say. */
  async #isOutside(channel: string): Promise<boolean | undefined> {
    try {
      const answer = await this.#slack.calls.conversations.info({ channel });
      return answer.channel?.is_member === false && answer.channel.is_im !== true;
    } catch (error) {
      return OUTSIDE.has(errorCodeOf(error) ?? "") || undefined;
    }
  }

  async #open(id: string): Promise<string | undefined> {
    try {
      return await this.#channelIds.ofPerson(id);
    } catch (error) {
      this.#log.info("the direct chat with the sender of a command could not be opened", { reason: reasonOf(error) });
      return undefined;
    }
  }

  /** Sends the note. The address is a secret: with it, anybody can write to the chat for half an hour. */
  async #inform({ trigger_id: trigger, response_url: address }: Answerable, text: string): Promise<void> {
    this.#informed.set(trigger, true);
    if (address == null || !isSlackUrl(address, new URL(this.#config.apiUrl).origin)) return;
    const reason = await this.#post(address, { response_type: "ephemeral", text });
    if (reason !== undefined)
      this.#log.info("the sender of a command could not be informed what becomes of it", { reason });
  }

  /** Returns why the request failed, undefined when it did not. docs.slack.dev/interactivity/handling-user-interaction#message_responses */
  async #post(address: string, body: object): Promise<string | undefined> {
    try {
      const { ok, status } = await fetch(address, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
        redirect: "error",
        signal: AbortSignal.timeout(this.#config.timeoutSeconds * 1000),
      });
      return ok ? undefined : `Slack answers ${status}`;
    } catch (error) {
      return reasonOf(error);
    }
  }
}
