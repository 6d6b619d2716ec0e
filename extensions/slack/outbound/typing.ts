import type { InboundMessage, Peer } from "openclaw/plugin-sdk";
import { nameOf } from "../inbound/emoji.ts";
import { reasonOf, unless, wordOf } from "../transport/failures.ts";
import type { Target } from "../inbound/reactions.ts";
import type { Room } from "../room.ts";
import { isTs } from "./send.ts";

const MOST = 500;
/** Refusals that come again with every try. */
const NEVER = new Set([
  "missing_scope",
  "not_allowed_token_type",
  "unknown_method",
  "no_permission",
  "feature_not_enabled",
]);

/**
 * Slack shows bots as typing in threads alone (assistant.threads.setStatus, cleared by the answer). Elsewhere the
 * `typingReaction` stands below the message that is being answered.
 */
export class Typing {
  readonly #room: Room;
  readonly #last = new Map<string, string>();
  readonly #marked = new Map<string, Target>();
  #hasStatus = true;

  constructor(room: Room) {
    this.#room = room;
  }

  /** Somebody wrote. */
  seen({ from, id, event }: InboundMessage): void {
    if (event !== undefined || !isTs(id)) return;
    this.#last.delete(keyOf(from));
    this.#last.set(keyOf(from), id);
    const [oldest] = this.#last.keys();
    if (this.#last.size > MOST && oldest !== undefined) this.#last.delete(oldest);
  }

  /** Never rejects. */
  async show(to: Peer): Promise<void> {
    try {
      const channel = await this.#room.channelIds.of(to);
      if (to.thread !== undefined && this.#hasStatus) await this.#status(channel, to.thread);
      await this.#mark(to, channel);
    } catch (error) {
      this.#room.host.log.info("typing was not shown", { reason: reasonOf(error) });
    }
  }

  /** The answer is there, or its beginning. Never rejects. */
  async answered(to: Peer): Promise<void> {
    const at = this.#marked.get(keyOf(to));
    const name = this.#emoji();
    if (!at || name === undefined) return;
    this.#marked.delete(keyOf(to));
    this.#last.delete(keyOf(to));
    const { reactions } = this.#room.slack.calls;
    try {
      await reactions.remove({ channel: at.channel, timestamp: at.ts, name });
    } catch (error) {
      if (wordOf(error) !== "no_reaction") {
        this.#room.host.log.info("the typing reaction was not taken away", { reason: reasonOf(error) });
      }
    }
  }

  async #status(channel: string, thread: string): Promise<void> {
    const { threads } = this.#room.slack.calls.assistant;
    try {
      await threads.setStatus({ channel_id: channel, thread_ts: thread, status: "is typing…" });
    } catch (error) {
      if (!NEVER.has(wordOf(error) ?? "")) throw error;
      this.#hasStatus = false;
      this.#room.host.log.info("Slack does not let the app show that it is typing", { reason: reasonOf(error) });
    }
  }

  async #mark(to: Peer, channel: string): Promise<void> {
    const ts = this.#last.get(keyOf(to));
    const name = this.#emoji();
    if (name === undefined || ts === undefined || this.#marked.get(keyOf(to))?.ts === ts) return;
    this.#marked.set(keyOf(to), { channel, ts });
    const { reactions } = this.#room.slack.calls;
    await reactions
      .add({ channel, timestamp: ts, name })
      .catch((error: unknown) => unless(error, "already_reacted", "message_not_found"));
  }

  #emoji(): string | undefined {
    const { typingReaction } = this.#room.config;
    return typingReaction === undefined ? undefined : nameOf(typingReaction);
  }
}

const keyOf = (peer: Peer): string => `${peer.chat.id} ${peer.thread ?? ""}`;
