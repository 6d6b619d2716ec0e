import type { Message, Update } from "grammy/types";

/** The requested kinds of updates. Telegram only sends reactions on request. */
export const ALLOWED_UPDATES = [
  "message",
  "edited_message",
  "channel_post",
  "edited_channel_post",
  "callback_query",
  "message_reaction",
] as const satisfies readonly (keyof Update)[];

/** A new message of a chat, or a new post of a channel that the bot administers. */
export const newIn = ({ message, channel_post: post }: Update): Message | undefined => message ?? post;

export const editedIn = ({ edited_message: message, edited_channel_post: post }: Update): Message | undefined =>
  message ?? post;
