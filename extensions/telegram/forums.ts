import type { Message, Update } from "grammy/types";
import { BoundedMap } from "openclaw/plugin-sdk";
import { newIn } from "./updates.ts";

const MOST = 500;
const MOST_TOPICS = 2000;

/**
 * Supergroups with topics, as of their last messages. A message in the General topic has no thread id, like a message
 * of a group without topics. Only the "typing…" signal must distinguish the two.
 */
export class Forums {
  readonly #ids = new BoundedMap<string, true>(MOST);
  /** Names of topics by chat and topic. Telegram has no call for a topic's name. */
  readonly #topics = new BoundedMap<string, string>(MOST_TOPICS);

  record(update: Update): void {
    const message = newIn(update);
    if (message?.chat.type !== "supergroup") return;
    const id = String(message.chat.id);
    this.#ids.delete(id);
    if (message.chat.is_forum === true) this.#ids.set(id, true);
    this.#recordTopic(message);
  }

  /**
   * A message of a topic that answers none formally replies to the message that created the topic, which has its first
   * name.
   */
  #recordTopic({ chat, message_thread_id: topic, ...message }: Message): void {
    if (topic === undefined) return;
    const key = `${chat.id}:${topic}`;
    const changed = message.forum_topic_created?.name ?? message.forum_topic_edited?.name;
    const first = message.reply_to_message?.forum_topic_created?.name;
    if (changed !== undefined) this.#topics.set(key, changed);
    else if (first !== undefined && !this.#topics.has(key)) this.#topics.set(key, first);
  }

  /** Name of a topic; undefined until a message contained it. */
  topicName(chatId: number, topic: string): string | undefined {
    return this.#topics.get(`${chatId}:${topic}`);
  }

  has(chatId: number | string): boolean {
    return this.#ids.has(String(chatId));
  }
}
