import { BoundedMap } from "openclaw/plugin-sdk";
import type { Peer } from "openclaw/plugin-sdk";
import { emojiName } from "../inbound/emoji.ts";
import { reasonOf, ignoreRefusal, errorCodeOf } from "../transport/failures.ts";
import type { MessageRef } from "../inbound/reactions.ts";
import type { AccountContext } from "./account-context.ts";
import { isTs } from "./send.ts";

const MAX_ENTRIES = 500;
/** Refusals that every further call would meet. */
const NEVER = new Set([
  "missing_scope",
  "not_allowed_token_type",
  "unknown_method",
  "no_permission",
  "feature_not_enabled",
]);

/**
 * Slack shows that a bot is typing only in threads (assistant.threads.setStatus, cleared by the answer). Elsewhere the
 * `typingReaction` is put below the message that is being answered.
 */
export class Typing {
  readonly #account: AccountContext;
  /** The messages that have the reaction, by their chats. */
  readonly #marked = new Map<string, MessageRef>();
  /** Messages that had the reaction: it does not come back. */
  readonly #answered = new BoundedMap<string, true>(MAX_ENTRIES);
  /** Threads that show the status. */
  readonly #withStatus = new Set<string>();
  #hasStatus = true;

  constructor(account: AccountContext) {
    this.#account = account;
  }

  /** Shows that the bot is typing. Never rejects. */
  async show(to: Peer, messageId: string | undefined): Promise<void> {
    try {
      const channel = await this.#account.channelIds.of(to);
      if (to.thread !== undefined && this.#hasStatus) await this.#status(to, { channel, thread: to.thread }, STATUS);
      if (messageId !== undefined && isTs(messageId)) await this.#react(to, { channel, ts: messageId });
    } catch (error) {
      this.#account.host.log.info("typing was not shown", { reason: reasonOf(error) });
    }
  }

  /**
   * Called when something is sent. Removes the reaction of the message that it answers, or begins to answer, by the key of the
   * message's event. Never rejects.
   */
  async clear(to: Peer, answers: string | undefined): Promise<void> {
    // Slack itself removes the status, whatever is sent.
    this.#withStatus.delete(keyOf(to));
    const at = this.#marked.get(keyOf(to));
    if (at && answers !== undefined && isOf(answers, at)) await this.#remove(to);
  }

  async #remove(to: Peer): Promise<void> {
    const at = this.#marked.get(keyOf(to));
    const name = this.#emoji();
    if (!at || name === undefined) return;
    this.#marked.delete(keyOf(to));
    this.#answered.set(refKey(at), true);
    const { reactions } = this.#account.slack.calls;
    try {
      await reactions.remove({ channel: at.channel, timestamp: at.ts, name });
    } catch (error) {
      if (errorCodeOf(error) !== "no_reaction") {
        this.#account.host.log.info("the typing reaction was not removed", { reason: reasonOf(error) });
      }
    }
  }

  /** Removes a shown status and reaction when the turn has ended: the turn may have sent nothing. Never rejects. */
  async end(to: Peer): Promise<void> {
    const hasStatus = this.#withStatus.has(keyOf(to));
    this.#withStatus.delete(keyOf(to));
    await this.#remove(to);
    if (!hasStatus || to.thread === undefined) return;
    try {
      await this.#status(to, { channel: await this.#account.channelIds.of(to), thread: to.thread }, "");
    } catch (error) {
      this.#account.host.log.info("typing was not ended", { reason: reasonOf(error) });
    }
  }

  async #status(to: Peer, { channel, thread }: { channel: string; thread: string }, status: string): Promise<void> {
    const { threads } = this.#account.slack.calls.assistant;
    try {
      await threads.setStatus({ channel_id: channel, thread_ts: thread, status });
      if (status !== "") this.#withStatus.add(keyOf(to));
    } catch (error) {
      if (!NEVER.has(errorCodeOf(error) ?? "")) throw error;
      this.#hasStatus = false;
      this.#account.host.log.info("Slack refuses to show that the app is typing", { reason: reasonOf(error) });
    }
  }

  async #react(to: Peer, at: MessageRef): Promise<void> {
    const name = this.#emoji();
    const isMarked = this.#marked.get(keyOf(to))?.ts === at.ts;
    if (name === undefined || isMarked || this.#answered.get(refKey(at)) === true) return;
    this.#marked.set(keyOf(to), at);
    const { reactions } = this.#account.slack.calls;
    await reactions
      .add({ channel: at.channel, timestamp: at.ts, name })
      .catch((error: unknown) => ignoreRefusal(error, "already_reacted", "message_not_found"));
  }

  #emoji(): string | undefined {
    const { typingReaction } = this.#account.config;
    return typingReaction === undefined ? undefined : emojiName(typingReaction);
  }
}

const STATUS = "is typing…";

/** Whether an event is one of this message: keys of events begin with a letter, the chat and the message. */
const isOf = (eventKey: string, { channel, ts }: MessageRef): boolean =>
  eventKey.slice(eventKey.indexOf(":") + 1).startsWith(`${channel}:${ts}`);

const refKey = ({ channel, ts }: MessageRef): string => `${channel} ${ts}`;
const keyOf = (peer: Peer): string => `${peer.chat.id} ${peer.thread ?? ""}`;
