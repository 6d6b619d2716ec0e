import { BoundedMap } from "openclaw/plugin-sdk";
import type { ChannelLog, OutboundText } from "openclaw/plugin-sdk";
import type { Slack } from "../transport/api.ts";
import { outcomeOf, errorCodeOf } from "../transport/failures.ts";
import { metadataFor } from "./metadata.ts";
import type { MessageRef } from "../inbound/reactions.ts";

/** Slack's errors for an edit or a removal of a message whose stream is still open. */
const STILL_OPEN = new Set(["streaming_state_conflict", "cant_delete_message"]);
/** Refusals that apply to every chat. */
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

/** The open streams of one account, and the chats in which Slack refuses streams. */
export class Streams {
  readonly #slack: Slack;
  readonly #log: ChannelLog;
  /** Open streams with the text that each shows. A stream whose text is uncertain is not listed. */
  readonly #open = new Map<string, OutboundText>();
  readonly #refused = new BoundedMap<string, true>(MAX_CHATS);
  #isRefused = false;

  constructor(slack: Slack, log: ChannelLog) {
    this.#slack = slack;
    this.#log = log;
  }

  /** False where Slack has refused a stream before. */
  mayStart(chat: string): boolean {
    return !this.#isRefused && !this.#refused.has(chat);
  }

  /** Remembers that Slack refused to start a stream, by its error code: for the account, or for this chat. */
  noteRefusal(chat: string, reason: string): void {
    if (NEVER.has(reason)) this.#isRefused = true;
    else this.#refused.set(chat, true);
    this.#log.info("Slack refuses streams here; answers are edits of a message", { chat, reason });
  }

  /** Notes the text that the stream shows now. */
  note(at: MessageRef, part: OutboundText): void {
    this.#open.set(keyOf(at), part);
  }

  /** Notes that the text of the stream is uncertain. */
  forget(at: MessageRef): void {
    this.#open.delete(keyOf(at));
  }

  /**
   * Ends the stream. True when the message already shows `part`, so that no edit is needed. Throws the errors of the
   * Web API client.
   */
  async end(at: MessageRef, part?: OutboundText): Promise<boolean> {
    const open = this.#open.get(keyOf(at));
    this.#open.delete(keyOf(at));
    const isDone = open !== undefined && (await this.#stop(at));
    return isDone && open.body === part?.body;
  }

  /** Changes a message. If its stream is still open, ends the stream first, whichever process began it. Throws as `end` does. */
  async changeEnded(at: MessageRef, change: () => Promise<unknown>): Promise<void> {
    try {
      await change();
    } catch (error) {
      if (!STILL_OPEN.has(errorCodeOf(error) ?? "")) throw error;
      await this.#stop(at);
      await change();
    }
  }

  /** False when Slack refused, as it does when Slack or the reader has already ended the stream. */
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
