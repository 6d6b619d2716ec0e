import { BoundedMap } from "openclaw/plugin-sdk";
import type { InboundMessage, Peer } from "openclaw/plugin-sdk";
import { nameOf } from "../inbound/emoji.ts";
import { reasonOf, ignoreRefusal, errorCodeOf } from "../transport/failures.ts";
import type { MessageRef } from "../inbound/reactions.ts";
import type { AccountContext } from "../account-context.ts";
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
  readonly #lastMessages = new BoundedMap<string, string>(MAX_ENTRIES);
  readonly #marked = new Map<string, MessageRef>();
  #hasStatus = true;

  constructor(account: AccountContext) {
    this.#account = account;
  }

  /** Remembers the newest message of a chat, which gets the reaction. */
  noteMessage({ from, id, event }: InboundMessage): void {
    if (event !== undefined || !isTs(id)) return;
    this.#lastMessages.set(keyOf(from), id);
  }

  /** Never rejects. */
  async show(to: Peer): Promise<void> {
    try {
      const channel = await this.#account.channelIds.of(to);
      if (to.thread !== undefined && this.#hasStatus) await this.#status(channel, to.thread);
      await this.#react(to, channel);
    } catch (error) {
      this.#account.host.log.info("typing was not shown", { reason: reasonOf(error) });
    }
  }

  /** Removes the reaction. Called when the answer, or its beginning, is sent. Never rejects. */
  async clear(to: Peer): Promise<void> {
    const at = this.#marked.get(keyOf(to));
    const name = this.#emoji();
    if (!at || name === undefined) return;
    this.#marked.delete(keyOf(to));
    this.#lastMessages.delete(keyOf(to));
    const { reactions } = this.#account.slack.calls;
    try {
      await reactions.remove({ channel: at.channel, timestamp: at.ts, name });
    } catch (error) {
      if (errorCodeOf(error) !== "no_reaction") {
        this.#account.host.log.info("the typing reaction was not removed", { reason: reasonOf(error) });
      }
    }
  }

  async #status(channel: string, thread: string): Promise<void> {
    const { threads } = this.#account.slack.calls.assistant;
    try {
      await threads.setStatus({ channel_id: channel, thread_ts: thread, status: "is typing…" });
    } catch (error) {
      if (!NEVER.has(errorCodeOf(error) ?? "")) throw error;
      this.#hasStatus = false;
      this.#account.host.log.info("Slack refuses to show that the app is typing", { reason: reasonOf(error) });
    }
  }

  async #react(to: Peer, channel: string): Promise<void> {
    const ts = this.#lastMessages.get(keyOf(to));
    const name = this.#emoji();
    if (name === undefined || ts === undefined || this.#marked.get(keyOf(to))?.ts === ts) return;
    this.#marked.set(keyOf(to), { channel, ts });
    const { reactions } = this.#account.slack.calls;
    await reactions
      .add({ channel, timestamp: ts, name })
      .catch((error: unknown) => ignoreRefusal(error, "already_reacted", "message_not_found"));
  }

  #emoji(): string | undefined {
    const { typingReaction } = this.#account.config;
    return typingReaction === undefined ? undefined : nameOf(typingReaction);
  }
}

const keyOf = (peer: Peer): string => `${peer.chat.id} ${peer.thread ?? ""}`;
