import type { InlineKeyboardMarkup } from "grammy/types";
import type { Peer, ReplyButton, SendOptions } from "openclaw/plugin-sdk";
import type { TelegramConfig } from "../config.ts";
import type { Account } from "../account.ts";

/** Bytes that a button may carry (core.telegram.org/bots/api#inlinekeyboardbutton). */
const CALLBACK_BYTES = 64;
const BUTTONS_PER_ROW = 3;
/** The thread of a forum's General topic. Messages to it must not name it. */
const GENERAL = "1";

type ChatId = number | string;

/** What every message to a chat says beside its content. */
export interface Envelope {
  readonly chat_id: ChatId;
  readonly message_thread_id?: number;
  readonly disable_notification?: boolean;
  readonly reply_parameters?: { message_id: number; allow_sending_without_reply: boolean };
  readonly reply_markup?: InlineKeyboardMarkup;
}

export function envelope(
  account: Pick<Account, "config" | "moves">,
  to: Peer,
  options: Partial<SendOptions>,
): Envelope {
  const { replyTo, silent, buttons } = options;
  return {
    chat_id: chatId(account, to),
    ...(to.thread !== undefined && to.thread !== GENERAL && { message_thread_id: Number(to.thread) }),
    ...(silent && { disable_notification: true }),
    ...(replyTo !== undefined && {
      reply_parameters: { message_id: Number(replyTo), allow_sending_without_reply: true },
    }),
    ...markup(account.config, to, buttons),
  };
}

/** Where "typing…" is shown: there the General topic has its number. */
export function place(
  account: Pick<Account, "moves" | "forums">,
  to: Peer,
): { chat_id: ChatId; message_thread_id?: number } {
  const id = chatId(account, to);
  const thread = to.thread ?? (account.forums.has(id) ? GENERAL : undefined);
  return { chat_id: id, ...(thread !== undefined && { message_thread_id: Number(thread) }) };
}

/** The chat as Telegram knows it now. */
export function chatId({ moves }: Pick<Account, "moves">, to: Peer): ChatId {
  const id = moves.onTelegram(to.chat.id);
  return /^-?\d+$/.test(id) ? Number(id) : id;
}

/** The buttons below a message, where the settings want any there. */
export function markup(
  { capabilities }: Pick<TelegramConfig, "capabilities">,
  to: Peer,
  buttons: readonly ReplyButton[] | undefined,
): { readonly reply_markup?: InlineKeyboardMarkup } {
  const { inlineButtons } = capabilities;
  const other = to.chat.kind === "direct" ? "group" : "dm";
  return buttons === undefined || inlineButtons === "off" || inlineButtons === other
    ? {}
    : { reply_markup: keyboard(buttons) };
}

/** Buttons whose command is too long for Telegram are left out: what they do can be typed. */
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
