import type { Message, Update } from "grammy/types";

/** Kinds of updates that are asked for. Telegram leaves out reactions unless they are named. */
export const ALLOWED_UPDATES = [
  "message",
  "edited_message",
  "channel_post",
  "edited_channel_post",
  "callback_query",
  "message_reaction",
] as const satisfies readonly (keyof Update)[];

/** A message that is new: in a chat, or as a post of a channel that the bot administers. */
export const newIn = ({ message, channel_post: post }: Update): Message | undefined => message ?? post;

export const editedIn = ({ edited_message: message, edited_channel_post: post }: Update): Message | undefined =>
  message ?? post;
