import type { ChannelLink, OutboundText, SendResult } from "openclaw/plugin-sdk";
import type { Bot } from "../api.ts";
import type { TelegramConfig } from "../config.ts";
import { chatId, markup, place } from "./envelope.ts";
import type { Envelope } from "./envelope.ts";
import { failureOf, resultOf } from "./failures.ts";
import type { Account } from "../account.ts";

const THREAD_GONE = /message thread not found/i;

/**
 * Makes one call that sends something. Follows a group that has become a supergroup; what belongs into a topic that was
 * deleted goes to the group itself. Never rejects.
 */
export async function deliver(
  account: Account,
  to: Envelope,
  call: (to: Envelope) => Promise<{ message_id: number }>,
): Promise<SendResult> {
  try {
    const message = await call(to);
    account.own.add(String(to.chat_id), String(message.message_id), to.message_thread_id);
    return { kind: "sent", messageId: String(message.message_id) };
  } catch (error) {
    const failure = failureOf(error);
    const moved = failure.kind === "answered" ? failure.movedTo : undefined;
    if (moved !== undefined && moved !== to.chat_id) {
      await keepMove(account, to, moved);
      return deliver(account, { ...to, chat_id: moved }, call);
    }
    if (failure.kind === "answered" && to.message_thread_id !== undefined && THREAD_GONE.test(failure.text)) {
      const { message_thread_id: _gone, ...group } = to;
      return deliver(account, group, call);
    }
    return resultOf(failure);
  }
}

async function keepMove({ moves, host }: Account, from: Envelope, to: number): Promise<void> {
  await moves.add(String(from.chat_id), String(to)).catch((error: unknown) => {
    host.log.warn("the new id of a group was not noted", { from: from.chat_id, to, error: String(error) });
  });
}

const CANNOT_PARSE = /can't parse entities/i;

const refusedFor = (result: SendResult, reason: RegExp): boolean =>
  result.kind === "refused" && reason.test(result.reason);

/** A text or a caption as the Bot API takes it. */
export interface Words {
  readonly text: string;
  readonly parse_mode?: "HTML";
}

/** Text as HTML; as plain text when Telegram cannot read the entities, which happens before anything is sent. */
export async function withPlainTextFallback(
  part: OutboundText,
  send: (words: Words) => Promise<SendResult>,
): Promise<SendResult> {
  const isHtml = part.format === "telegram-html";
  const result = await send(isHtml ? { text: part.body, parse_mode: "HTML" } : { text: part.body });
  return refusedFor(result, CANNOT_PARSE) ? send({ text: part.plain }) : result;
}

const previews = ({ linkPreview }: TelegramConfig): { readonly link_preview_options?: { is_disabled: true } } =>
  linkPreview ? {} : { link_preview_options: { is_disabled: true } };

export async function sendText(account: Account, to: Envelope, part: OutboundText): Promise<SendResult> {
  return withPlainTextFallback(part, (words) =>
    deliver(account, to, (at) => account.bot.calls.sendMessage({ ...at, ...words, ...previews(account.config) })),
  );
}

type Changes = Required<Pick<ChannelLink, "edit" | "remove" | "react" | "typing">>;

/** What can be done to messages that are there. */
export function changes(account: Account): Changes {
  const { bot, config, host } = account;
  return {
    async edit(to, messageId, part, options = {}) {
      const target = { chat_id: chatId(account, to), message_id: Number(messageId) };
      const buttons = markup(config, to, options.buttons);
      const result = await withPlainTextFallback(part, async (words) => {
        const { text: caption, ...mode } = words;
        const all = { ...target, ...buttons, ...words, ...previews(config) };
        const edited = await change(messageId, () => bot.calls.editMessageText(all));
        if (!refusedFor(edited, /no text in the message/i)) return edited;
        return change(messageId, () => bot.calls.editMessageCaption({ ...target, ...buttons, ...mode, caption }));
      });
      return refusedFor(result, /message is not modified/i) ? { kind: "sent", messageId } : result;
    },
    async remove(to, messageId) {
      const target = { chat_id: chatId(account, to), message_id: Number(messageId) };
      const result = await change(messageId, () => bot.calls.deleteMessage(target));
      return refusedFor(result, /message to delete not found/i) ? { kind: "sent", messageId } : result;
    },
    async react(to, messageId, emoji) {
      const reaction = emoji !== undefined && isReaction(emoji) ? [{ type: "emoji" as const, emoji }] : [];
      const target = { chat_id: chatId(account, to), message_id: Number(messageId) };
      return change(messageId, () => bot.calls.setMessageReaction({ ...target, reaction }));
    },
    async typing(to) {
      await bot.calls.sendChatAction({ ...place(account, to), action: "typing" }).catch((error: unknown) => {
        host.log.info("typing was not shown", { reason: failureOf(error).text });
      });
    },
  };
}

async function change(messageId: string, call: () => Promise<unknown>): Promise<SendResult> {
  try {
    await call();
    return { kind: "sent", messageId };
  } catch (error) {
    return resultOf(failureOf(error));
  }
}

type Reaction = Extract<Parameters<Bot["calls"]["setMessageReaction"]>[0]["reaction"], readonly unknown[]>[number];
type Emoji = Extract<Reaction, { type: "emoji" }>["emoji"];
// Which emoji it takes only Telegram knows; it refuses others by name.
const isReaction = (emoji: string): emoji is Emoji => emoji !== "";
