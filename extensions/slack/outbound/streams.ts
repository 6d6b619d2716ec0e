import type { ChannelLog, OutboundText } from "openclaw/plugin-sdk";
import type { Slack } from "../transport/api.ts";
import { outcomeOf, errorCodeOf } from "../transport/failures.ts";
import { metadataFor } from "./metadata.ts";
import type { MessageRef } from "../inbound/reactions.ts";

/** Slack's answers to an edit and to a removal of a message that is still being written. */
const STILL_OPEN = new Set(["streaming_state_conflict", "cant_delete_message"]);
/** Refusals that come again in every chat. */
const NEVER = new Set([
  "missing_scope",
  "not_allowed_token_type",
  "unknown_method",
  "method_deprecated",
  "no_permission",
  "access_denied",
  "feature_not_enabled",
  "invalid_stream_arguments",
]);
const MAX_CHATS = 500;

/** Messages of one account that Slack shows as being written, and where it shows none. */
export class Streams {
  readonly #slack: Slack;
  readonly #log: ChannelLog;
  /** What is open, with what it would be as a whole. Those of which nobody knows what they say are not here. */
  readonly #open = new Map<string, OutboundText>();
  readonly #refused = new Set<string>();
  #isRefused = false;

  constructor(slack: Slack, log: ChannelLog) {
    this.#slack = slack;
    this.#log = log;
  }

  /** False where Slack has refused before. */
  mayStart(chat: string): boolean {
    return !this.#isRefused && !this.#refused.has(chat);
  }

  /** Remembers a refusal to begin, by Slack's word for it: for the account, or for this chat. */
  noteRefusal(chat: string, reason: string): void {
    if (NEVER.has(reason)) this.#isRefused = true;
    else this.#refused.add(chat);
    const [oldest] = this.#refused;
    if (this.#refused.size > MAX_CHATS && oldest !== undefined) this.#refused.delete(oldest);
    this.#log.info("Slack does not stream answers here; messages are edited", { chat, reason });
  }

  /** It says this now. */
  note(at: MessageRef, part: OutboundText): void {
    this.#open.set(keyOf(at), part);
  }

  /** Nobody knows what it says. */
  forget(at: MessageRef): void {
    this.#open.delete(keyOf(at));
  }

  /**
   * Ends a message that is still being written. True when it says what `part` would: nothing has to be changed then.
   * Throws what the Web API client throws.
   */
  async end(at: MessageRef, part?: OutboundText): Promise<boolean> {
    const open = this.#open.get(keyOf(at));
    this.#open.delete(keyOf(at));
    const isDone = open !== undefined && (await this.#stop(at));
    return isDone && open.body === part?.body;
  }

  /** A change that Slack takes only of a message that is no more being written, whoever began it. Throws as `end` does. */
  async changeEnded(at: MessageRef, change: () => Promise<unknown>): Promise<void> {
    try {
      await change();
    } catch (error) {
      if (!STILL_OPEN.has(errorCodeOf(error) ?? "")) throw error;
      await this.#stop(at);
      await change();
    }
  }

  /** False when Slack refused, as it does when the message was ended by Slack or by its reader. */
  async #stop({ channel, ts }: MessageRef): Promise<boolean> {
    try {
      await this.#slack.calls.chat.stopStream({ channel, ts, metadata: metadataFor(`stream:${ts}`) });
      return true;
    } catch (error) {
      if (outcomeOf(error).kind !== "refused") throw error;
      return false;
    }
  }
}

const keyOf = ({ channel, ts }: MessageRef): string => `${channel} ${ts}`;
