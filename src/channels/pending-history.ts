import { BoundedMap } from "../utils/bounded-map.ts";
import type { HistoryLine, InboundMessage, Peer, ReactionFacts } from "../types/chat/message.ts";

/** Chats of which lines are kept; beyond it the one that was silent longest is forgotten. */
const MAX_CHATS = 500;

interface Kept {
  /** Grows with arrival. */
  readonly id: number;
  readonly line: HistoryLine;
}

/** What was said in groups since the bot's last turn there; in memory, filled again from the journal at a start. */
export class PendingHistory {
  readonly #chats = new BoundedMap<string, readonly Kept[]>(MAX_CHATS);

  /** Keeps the newest `limit` lines of the chat; none when it is 0. `id` grows with arrival. */
  add({ id, message }: { readonly id: number; readonly message: InboundMessage }, limit: number): void {
    const key = keyOf(message.from);
    const before = (this.#chats.get(key) ?? []).filter((kept) => kept.id !== id);
    const lines = [...before, { id, line: lineOf(message) }].slice(limit > 0 ? -limit : Infinity);
    if (lines.length > 0) this.#chats.set(key, lines);
    else this.#chats.delete(key);
  }

  /** The lines of a chat that came before `id`, oldest first; they are gone afterwards. */
  take(from: Peer, id: number): readonly HistoryLine[] {
    const key = keyOf(from);
    const lines = this.#chats.get(key) ?? [];
    const later = lines.filter((kept) => kept.id > id);
    if (later.length > 0) this.#chats.set(key, later);
    else this.#chats.delete(key);
    return lines.filter((kept) => kept.id < id).map(({ line }) => line);
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
