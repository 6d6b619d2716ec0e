import type { HistoryLine, InboundMessage, Peer, ReactionFacts } from "../types/message.ts";
import { forgetOldest } from "../utils/forget-oldest.ts";

/** Chats of which lines are kept; beyond it the one that was silent longest is forgotten. */
const MAX_CHATS = 500;

/** What was said in groups since the bot's last answer there; in memory, lost with the process. */
export class PendingHistory {
  readonly #chats = new Map<string, HistoryLine[]>();

  /** Keeps the newest `limit` lines of the chat; none when it is 0. */
  add(message: InboundMessage, limit: number): void {
    const key = keyOf(message.from);
    const lines = [...(this.#chats.get(key) ?? []), lineOf(message)].slice(limit > 0 ? -limit : Infinity);
    this.#chats.delete(key);
    if (lines.length > 0) this.#chats.set(key, lines);
    forgetOldest(this.#chats, MAX_CHATS);
  }

  /** The lines of a chat, oldest first; they are gone afterwards. */
  take(from: Peer): readonly HistoryLine[] {
    const key = keyOf(from);
    const lines = this.#chats.get(key) ?? [];
    this.#chats.delete(key);
    return lines;
  }
}

const keyOf = (peer: Peer): string => JSON.stringify([peer.channel, peer.account, peer.chat.id, peer.thread ?? ""]);

const lineOf = (message: InboundMessage): HistoryLine => ({
  sender: message.sender.name ?? message.sender.username ?? message.sender.id,
  at: message.sentAt ?? message.receivedAt,
  text: message.reaction
    ? reactionText(message.reaction)
    : [message.text, ...message.media.map((item) => `<${item.kind}>`)].filter((part) => part !== "").join(" "),
});

const reactionText = ({ emoji, removed, toBot, messageId }: ReactionFacts): string =>
  `[${removed ? "took back" : "reacted with"} ${emoji} on ${toBot ? "your message" : "message"} ${messageId}]`;
