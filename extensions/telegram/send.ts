import type { InlineKeyboardMarkup } from "grammy/types";
import type { ChannelLink, OutboundPart, Peer, ReplyButton, SendOptions, SendResult } from "openclaw/plugin-sdk";
import type { Bot } from "./api.ts";
import type { TelegramConfig } from "./config.ts";
import { failureOf, resultOf } from "./failures.ts";

type TextPart = Extract<OutboundPart, { kind: "text" }>;

/** Bytes that a button may carry. */
const CALLBACK_BYTES = 64;
const BUTTONS_PER_ROW = 3;

/** What every message to a chat says beside its content. */
export interface Envelope {
  readonly chat_id: number | string;
  readonly message_thread_id?: number;
  readonly disable_notification?: boolean;
  readonly reply_parameters?: { message_id: number; allow_sending_without_reply: boolean };
  readonly reply_markup?: InlineKeyboardMarkup;
}

export function envelope(to: Peer, options: Partial<SendOptions>): Envelope {
  const { replyTo, silent, buttons } = options;
  return {
    ...address(to),
    ...(silent && { disable_notification: true }),
    ...(replyTo !== undefined && {
      reply_parameters: { message_id: Number(replyTo), allow_sending_without_reply: true },
    }),
    ...(buttons && { reply_markup: keyboard(buttons) }),
  };
}

export const address = (to: Peer): { chat_id: number | string; message_thread_id?: number } => ({
  chat_id: chatId(to),
  ...(to.thread !== undefined && { message_thread_id: Number(to.thread) }),
});

const chatId = (to: Peer): number | string => (/^-?\d+$/.test(to.chat.id) ? Number(to.chat.id) : to.chat.id);

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

/** Makes one call that sends something. Follows a group that has become a supergroup. Never rejects. */
export async function deliver(
  to: Envelope,
  call: (to: Envelope) => Promise<{ message_id: number }>,
): Promise<SendResult> {
  try {
    const message = await call(to);
    return { kind: "sent", messageId: String(message.message_id) };
  } catch (error) {
    const failure = failureOf(error);
    const moved = failure.kind === "answered" ? failure.movedTo : undefined;
    if (moved !== undefined && moved !== to.chat_id) return deliver({ ...to, chat_id: moved }, call);
    return resultOf(failure);
  }
}

const CANNOT_PARSE = /can't parse entities/i;

const refusedFor = (result: SendResult, reason: RegExp): boolean =>
  result.kind === "refused" && reason.test(result.reason);

interface Dress {
  readonly text: string;
  readonly parse_mode?: "HTML";
  readonly link_preview_options?: { is_disabled: true };
}

function dress(part: TextPart, config: TelegramConfig): { readonly rich: Dress; readonly plain: Dress } {
  const preview = config.linkPreview ? {} : { link_preview_options: { is_disabled: true as const } };
  const rich = part.format === "telegram-html" ? { text: part.body, parse_mode: "HTML" as const } : { text: part.body };
  return { rich: { ...rich, ...preview }, plain: { text: part.plain, ...preview } };
}

/** Text as HTML; as plain text when Telegram cannot read the entities, which happens before anything is sent. */
async function inEitherDress(
  part: TextPart,
  config: TelegramConfig,
  send: (dress: Dress) => Promise<SendResult>,
): Promise<SendResult> {
  const { rich, plain } = dress(part, config);
  const result = await send(rich);
  return refusedFor(result, CANNOT_PARSE) ? send(plain) : result;
}

export async function sendText(bot: Bot, config: TelegramConfig, to: Envelope, part: TextPart): Promise<SendResult> {
  return inEitherDress(part, config, (text) => deliver(to, (at) => bot.calls.sendMessage({ ...at, ...text })));
}

type Changes = Required<Pick<ChannelLink, "edit" | "remove" | "react" | "typing">>;

/** What can be done to messages that are there. */
export function changes(bot: Bot, config: TelegramConfig, log: (reason: string) => void): Changes {
  return {
    async edit(to, messageId, part, options = {}) {
      const target = { chat_id: chatId(to), message_id: Number(messageId) };
      const markup = options.buttons ? { reply_markup: keyboard(options.buttons) } : {};
      const result = await inEitherDress(part, config, (text) =>
        change(messageId, () => bot.calls.editMessageText({ ...target, ...markup, ...text })),
      );
      return refusedFor(result, /message is not modified/i) ? { kind: "sent", messageId } : result;
    },
    async remove(to, messageId) {
      const target = { chat_id: chatId(to), message_id: Number(messageId) };
      const result = await change(messageId, () => bot.calls.deleteMessage(target));
      return refusedFor(result, /message to delete not found/i) ? { kind: "sent", messageId } : result;
    },
    async react(to, messageId, emoji) {
      const reaction = emoji !== undefined && isReaction(emoji) ? [{ type: "emoji" as const, emoji }] : [];
      const target = { chat_id: chatId(to), message_id: Number(messageId) };
      return change(messageId, () => bot.calls.setMessageReaction({ ...target, reaction }));
    },
    async typing(to) {
      await bot.calls.sendChatAction({ ...address(to), action: "typing" }).catch((error: unknown) => {
        log(failureOf(error).text);
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
