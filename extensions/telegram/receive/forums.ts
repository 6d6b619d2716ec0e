import type { Update } from "grammy/types";
import { BoundedMap } from "openclaw/plugin-sdk";
import { newIn } from "./updates.ts";

const MOST = 500;

/**
 * Supergroups with topics, as of their last messages. A message in the General topic has no thread id, like one of a group without
 * topics. Only the "typing…" signal must tell the two apart.
 */
export class Forums {
  readonly #ids = new BoundedMap<string, true>(MOST);

  record(update: Update): void {
    const chat = newIn(update)?.chat;
    if (chat?.type !== "supergroup") return;
    const id = String(chat.id);
    this.#ids.delete(id);
    if (chat.is_forum === true) this.#ids.set(id, true);
  }

  has(chatId: number | string): boolean {
    return this.#ids.has(String(chatId));
  }
}
