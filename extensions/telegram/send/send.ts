import type { ChannelLink, OutboundText, SendResult } from "openclaw/plugin-sdk";
import type { BotApi } from "../api.ts";
import type { TelegramConfig } from "../config.ts";
import { chatId, markup, typingTarget } from "./envelope.ts";
import type { SendFields } from "./envelope.ts";
import { failureOf, outcomeOf } from "./failures.ts";
import type { Account } from "../account.ts";

const THREAD_GONE = /message thread not found/i;

/**
 * Makes one call that sends a message. Follows a group that became a supergroup; a message for a deleted topic is sent to the group
 * itself. Never rejects.
 */
export async function deliver(
  account: Account,
  to: SendFields,
  call: (to: SendFields) => Promise<{ message_id: number }>,
): Promise<SendResult> {
  try {
    const message = await call(to);
    account.own.add(String(to.chat_id), String(message.message_id), to.message_thread_id);
    return { kind: "sent", messageId: String(message.message_id) };
  } catch (error) {
    const failure = failureOf(error);
    const newId = failure.kind === "answered" ? failure.movedTo : undefined;
    if (newId !== undefined && newId !== to.chat_id) {
      await noteMigration(account, to, newId);
      return deliver(account, { ...to, chat_id: newId }, call);
    }
    if (failure.kind === "answered" && to.message_thread_id !== undefined && THREAD_GONE.test(failure.text)) {
      const { message_thread_id: _gone, ...group } = to;
      return deliver(account, group, call);
    }
    return outcomeOf(failure);
  }
}

async function noteMigration({ migrations, host }: Account, from: SendFields, to: number): Promise<void> {
  await migrations.add(String(from.chat_id), String(to)).catch((error: unknown) => {
    host.log.warn("the new id of a group was not noted", { from: from.chat_id, to, error: String(error) });
  });
}

const CANNOT_PARSE = /can't parse entities/i;

const refusedFor = (result: SendResult, reason: RegExp): boolean =>
  result.kind === "refused" && reason.test(result.reason);

/** A text or a caption in the form of the Bot API. */
export interface FormattedText {
  readonly text: string;
  readonly parse_mode?: "HTML";
}

/** Sends text as HTML, and as plain text when Telegram cannot parse the HTML. Telegram sends nothing in that case. */
export async function withPlainTextFallback(
  part: OutboundText,
  send: (text: FormattedText) => Promise<SendResult>,
): Promise<SendResult> {
  const isHtml = part.format === "telegram-html";
  const result = await send(isHtml ? { text: part.body, parse_mode: "HTML" } : { text: part.body });
  return refusedFor(result, CANNOT_PARSE) ? send({ text: part.plain }) : result;
}

const previews = ({ linkPreview }: TelegramConfig): { readonly link_preview_options?: { is_disabled: true } } =>
  linkPreview ? {} : { link_preview_options: { is_disabled: true } };

export async function sendText(account: Account, to: SendFields, part: OutboundText): Promise<SendResult> {
  return withPlainTextFallback(part, (text) =>
    deliver(account, to, (at) => account.bot.calls.sendMessage({ ...at, ...text, ...previews(account.config) })),
  );
}

type Changes = Required<Pick<ChannelLink, "edit" | "remove" | "react" | "typing">>;

/** Actions on existing messages, and "typing…". */
export function changes(account: Account): Changes {
  const { bot, config, host } = account;
  return {
    async edit(to, messageId, part, options = {}) {
      const target = { chat_id: chatId(account, to), message_id: Number(messageId) };
      const buttons = markup(config, to, options.buttons);
      const result = await withPlainTextFallback(part, async (text) => {
        const { text: caption, ...mode } = text;
        const all = { ...target, ...buttons, ...text, ...previews(config) };
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
      await bot.calls.sendChatAction({ ...typingTarget(account, to), action: "typing" }).catch((error: unknown) => {
        host.log.info("typing was not shown", { reason: failureOf(error).text });
      });
    },
  };
}

/** Makes a call that changes a message. Never rejects. */
export async function change(messageId: string, call: () => Promise<unknown>): Promise<SendResult> {
  try {
    await call();
    return { kind: "sent", messageId };
  } catch (error) {
    return outcomeOf(failureOf(error));
  }
}

type Reaction = Extract<Parameters<BotApi["calls"]["setMessageReaction"]>[0]["reaction"], readonly unknown[]>[number];
type Emoji = Extract<Reaction, { type: "emoji" }>["emoji"];
// Only Telegram knows which emoji it accepts; it refuses the others.
const isReaction = (emoji: string): emoji is Emoji => emoji !== "";
