import type { Message, Update } from "grammy/types";
import { BoundedMap } from "openclaw/plugin-sdk";
import { z } from "zod";
import type { TelegramConfig } from "../config.ts";
import { editedIn, newIn } from "./updates.ts";

const MOST = 500;
const hearing = z.looseObject({
  groupPolicy: z.string().optional(),
  groups: z
    .record(z.string(), z.looseObject({ enabled: z.boolean().optional(), allow: z.boolean().optional() }).catch({}))
    .catch({}),
});

/** The post of a channel that Telegram shows in the channel's discussion group as well. */
export function postOf(message: Message): { readonly chatId: number; readonly id: number } | undefined {
  const origin = message.is_automatic_forward ? message.forward_origin : undefined;
  return origin?.type === "channel" ? { chatId: origin.chat.id, id: origin.message_id } : undefined;
}

/** Posts that were heard in their channels: naming the bot, they are answered there, and not in the discussion group again. */
export class Posts {
  readonly #settings: z.output<typeof hearing>;
  readonly #seen = new BoundedMap<string, true>(MOST);

  constructor(config: TelegramConfig) {
    this.#settings = hearing.parse({ groups: {}, ...config });
  }

  see(update: Update): void {
    const post = newIn(update) ?? editedIn(update);
    if (post?.chat.type !== "channel" || !this.#isHeard(post.chat.id)) return;
    this.#seen.set(`${post.chat.id}:${post.message_id}`, true);
  }

  has(chatId: number, messageId: number): boolean {
    return this.#seen.has(`${chatId}:${messageId}`);
  }

  /** As the core lets chats in: a post that it drops in the channel has to be answered in the group. */
  #isHeard(chatId: number): boolean {
    const { groupPolicy, groups } = this.#settings;
    const group = groups[String(chatId)] ?? groups["*"];
    if (groupPolicy === "disabled" || group?.enabled === false || group?.allow === false) return false;
    return group !== undefined || groupPolicy === "open";
  }
}
