import { BoundedMap } from "../utils/bounded-map.ts";
import type { HistoryLine, InboundMessage, Peer } from "../types/chat/message.ts";

/** Number of chats with kept lines; the chat that has been silent longest is forgotten first. */
const MAX_CHATS = 500;

interface Kept {
  /** Higher for later messages. */
  readonly id: number;
  readonly line: HistoryLine;
}

/** Messages of groups since the bot's last turn there. Kept in memory and restored from the journal at a start. */
export class PendingHistory {
  readonly #chats = new BoundedMap<string, readonly Kept[]>(MAX_CHATS);

  /** Keeps the newest `limit` lines of the chat; none when it is 0. `id` is higher for later messages. */
  add({ id, message }: { readonly id: number; readonly message: InboundMessage }, limit: number): void {
    const key = keyOf(message.from);
    const before = (this.#chats.get(key) ?? []).filter((kept) => kept.id !== id);
    const lines = [...before, { id, line: lineOf(message) }].slice(limit > 0 ? -limit : Infinity);
    if (lines.length > 0) this.#chats.set(key, lines);
    else this.#chats.delete(key);
  }

  /** Takes the lines of a chat from before `id` out, oldest first. */
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
  text: [message.text, ...message.media.map((item) => `<${item.kind}>`)].filter((part) => part !== "").join(" "),
});
