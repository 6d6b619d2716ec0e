import type { MessageReactionUpdated, ReactionType } from "grammy/types";
import type { InboundMessage, ReactionFacts } from "openclaw/plugin-sdk";
import { peerOf, userOf } from "./people.ts";
import type { View } from "./people.ts";

/** The changes of a message's reactions: an added emoji, a removed one, or both. Anonymous counts are left out. */
export function reacted(change: MessageReactionUpdated, eventKey: string, view: View): readonly InboundMessage[] {
  const { chat, user, actor_chat: actor } = change;
  const messageId = String(change.message_id);
  const before = change.old_reaction.map(nameOf);
  const after = change.new_reaction.map(nameOf);
  const toBot = chat.type === "private" || view.own?.has(chat.id, change.message_id) === true;
  const facts = (emoji: string): ReactionFacts => ({ emoji, messageId, ...(toBot && { toBot }) });
  const changes: readonly ReactionFacts[] = [
    ...before.filter((emoji) => !after.includes(emoji)).map((emoji) => ({ ...facts(emoji), removed: true })),
    ...after.filter((emoji) => !before.includes(emoji)).map(facts),
  ];
  const title = actor?.title;
  const chatSender = { id: String((actor ?? chat).id), ...(title !== undefined && { name: title }) };
  return changes.map((reaction, index) => ({
    id: messageId,
    eventKey: index === 0 ? eventKey : `${eventKey}.${index}`,
    from: peerOf(chat, view.own?.topicOf(chat.id, change.message_id), view.account),
    sender: user ? userOf(user) : chatSender,
    text: "",
    media: [],
    mentionsBot: chat.type === "private",
    event: "reaction",
    reaction,
    receivedAt: view.now,
    sentAt: change.date * 1000,
  }));
}

function nameOf(reaction: ReactionType): string {
  if (reaction.type === "emoji") return reaction.emoji;
  return reaction.type === "paid" ? "⭐" : `custom emoji ${reaction.custom_emoji_id}`;
}
