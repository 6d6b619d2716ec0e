import type { InlineKeyboardMarkup } from "grammy/types";
import type { ButtonLimits, Peer, ReplyButton, SendOptions } from "openclaw/plugin-sdk";
import type { TelegramConfig } from "../config.ts";
import type { Account } from "../account.ts";

/** Maximum bytes of a button's command (core.telegram.org/bots/api#inlinekeyboardbutton). Longer labels are cut off on phones. */
const CALLBACK_BYTES = 64;
const BUTTONS: ButtonLimits = { count: 24, label: 40, command: CALLBACK_BYTES };
const BUTTONS_PER_ROW = 3;
/** The thread id of a forum's General topic. Messages to it must leave it out. */
const GENERAL = "1";

type ChatId = number | string;

/** The fields of a message other than its content. */
export interface SendFields {
  readonly chat_id: ChatId;
  readonly message_thread_id?: number;
  readonly disable_notification?: boolean;
  readonly reply_parameters?: { message_id: number; allow_sending_without_reply: boolean };
  readonly reply_markup?: InlineKeyboardMarkup;
}

export function envelope(
  account: Pick<Account, "config" | "migrations">,
  to: Peer,
  options: Partial<SendOptions>,
): SendFields {
  const { replyTo, silent, buttons } = options;
  return {
    chat_id: chatId(account, to),
    ...(to.thread !== undefined && to.thread !== GENERAL && { message_thread_id: Number(to.thread) }),
    ...(silent && { disable_notification: true }),
    ...(isMessageId(replyTo) && {
      reply_parameters: { message_id: Number(replyTo), allow_sending_without_reply: true },
    }),
    ...markup(account.config, to, buttons),
  };
}

/** A model may write anything as the id of the message that it answers, and Telegram refuses a message with a wrong one. */
const isMessageId = (id: string | undefined): boolean => id !== undefined && /^\d{1,15}$/.test(id) && Number(id) > 0;

/** The chat and topic of the "typing…" signal, which includes the id of the General topic. */
export function typingTarget(
  account: Pick<Account, "migrations" | "forums">,
  to: Peer,
): { chat_id: ChatId; message_thread_id?: number } {
  const id = chatId(account, to);
  const thread = to.thread ?? (account.forums.has(id) ? GENERAL : undefined);
  return { chat_id: id, ...(thread !== undefined && { message_thread_id: Number(thread) }) };
}

/** The chat's present id on Telegram. */
export function chatId({ migrations }: Pick<Account, "migrations">, to: Peer): ChatId {
  const id = migrations.currentId(to.chat.id);
  return /^-?\d+$/.test(id) ? Number(id) : id;
}

/** Limits for buttons in this chat; undefined when the settings allow none. */
export function buttonLimits(
  { capabilities: { inlineButtons } }: Pick<TelegramConfig, "capabilities">,
  to: Peer,
): ButtonLimits | undefined {
  const other = to.chat.kind === "direct" ? "group" : "dm";
  return inlineButtons === "off" || inlineButtons === other ? undefined : BUTTONS;
}

/** The buttons below a message, if the settings allow them in this chat. */
export function markup(
  config: Pick<TelegramConfig, "capabilities">,
  to: Peer,
  buttons: readonly ReplyButton[] | undefined,
): { readonly reply_markup?: InlineKeyboardMarkup } {
  return buttons === undefined || !buttonLimits(config, to) ? {} : { reply_markup: keyboard(buttons) };
}

/** Leaves out buttons whose command is too long for Telegram: people can type the command. */
function keyboard(buttons: readonly ReplyButton[]): InlineKeyboardMarkup {
  const keys = buttons
    .filter((button) => Buffer.byteLength(button.command) <= CALLBACK_BYTES)
    .map((button) => ({ text: button.label, callback_data: button.command }));
  const rows = Math.ceil(keys.length / BUTTONS_PER_ROW);
  return {
    inline_keyboard: Array.from({ length: rows }, (_, row) =>
      keys.slice(row * BUTTONS_PER_ROW, (row + 1) * BUTTONS_PER_ROW),
    ),
  };
}
