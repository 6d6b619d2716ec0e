import type { Message, User } from "grammy/types";
import type { ChatNews } from "openclaw/plugin-sdk";
import type { View } from "./people.ts";
import { userOf } from "./people.ts";

/** The news in one of Telegram's service messages: https://core.telegram.org/bots/api#message. None about the bot itself. */
export function newsOf(message: Message, { self }: Pick<View, "self">): ChatNews | undefined {
  const { pinned_message: pinned, new_chat_members: joined, left_chat_member: left, new_chat_title: title } = message;
  if (pinned) return { kind: "pinned", messageId: String(pinned.message_id) };
  if (joined) return joinedNews(joined, message, self.id);
  if (left) return left.id === self.id ? undefined : { kind: "left", ...subjectOf([left], message) };
  const renamed = title ?? message.forum_topic_edited?.name;
  return renamed === undefined ? undefined : { kind: "renamed", subject: renamed };
}

function joinedNews(members: readonly User[], message: Message, selfId: number): ChatNews | undefined {
  const people = members.filter(({ id }) => id !== selfId);
  return people.length === 0 ? undefined : { kind: "joined", ...subjectOf(people, message) };
}

/** The names of people, unless it is the sender alone. */
function subjectOf(people: readonly User[], { from }: Message): Pick<ChatNews, "subject"> {
  const [first, ...more] = people;
  if (first?.id === from?.id && more.length === 0) return {};
  return { subject: people.map((person) => userOf(person).name).join(", ") };
}
