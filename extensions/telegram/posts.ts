import type { Message, Update } from "grammy/types";
import { BoundedMap } from "openclaw/plugin-sdk";
import { z } from "zod";
import type { TelegramConfig } from "./config.ts";
import { editedIn, newIn } from "./updates.ts";

const MOST = 500;
const groupSettings = z.looseObject({
  groupPolicy: z.string().optional(),
  groups: z
    .record(z.string(), z.looseObject({ enabled: z.boolean().optional(), allow: z.boolean().optional() }).catch({}))
    .catch({}),
});

/** The channel post that a message of a discussion group is a copy of. */
export function postOf(message: Message): { readonly chatId: number; readonly id: number } | undefined {
  const origin = message.is_automatic_forward ? message.forward_origin : undefined;
  return origin?.type === "channel" ? { chatId: origin.chat.id, id: origin.message_id } : undefined;
}

/** Posts that the bot received in their channels. It answers a mention there, and not again in the discussion group. */
export class Posts {
  readonly #settings: z.output<typeof groupSettings>;
  readonly #seen = new BoundedMap<string, true>(MOST);

  constructor(config: TelegramConfig) {
    this.#settings = groupSettings.parse({ groups: {}, ...config });
  }

  record(update: Update): void {
    const post = newIn(update) ?? editedIn(update);
    if (post?.chat.type !== "channel" || !this.#isAllowed(post.chat.id)) return;
    this.#seen.set(`${post.chat.id}:${post.message_id}`, true);
  }

  has(chatId: number, messageId: number): boolean {
    return this.#seen.has(`${chatId}:${messageId}`);
  }

  /** The core's rule for chats: when it drops a post in the channel, the copy in the group must be answered. */
  #isAllowed(chatId: number): boolean {
    const { groupPolicy, groups } = this.#settings;
    const group = groups[String(chatId)] ?? groups["*"];
    if (groupPolicy === "disabled" || group?.enabled === false || group?.allow === false) return false;
    return group !== undefined || groupPolicy === "open";
  }
}
