import type { Message, Update } from "grammy/types";
import { z } from "zod";

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

/** The part of a message that all code of the adapter takes for granted: #message, #chat. */
const message = z
  .looseObject({
    message_id: z.number(),
    chat: z.looseObject({ id: z.number(), type: z.string() }),
    text: z.string().optional(),
    caption: z.string().optional(),
  })
  .optional();
const messages = z.looseObject({
  message,
  edited_message: message,
  channel_post: message,
  edited_channel_post: message,
});

/** Why an update cannot be read; undefined when it has the form that the documentation gives. */
export const whyUnreadable = (update: Update): string | undefined => {
  const [issue] = messages.safeParse(update).error?.issues ?? [];
  return issue && `${issue.path.join(".")}: ${issue.message}`;
};
