import type { Message, MessageOrigin } from "grammy/types";

/** Lines about content that is neither text nor a file: the origin of a forwarded message, a place, a contact. */
export function untrustedOf(message: Message): readonly string[] {
  const lines = [
    message.forward_origin && `Forwarded from ${originOf(message.forward_origin)}`,
    place(message),
    message.contact && contact(message.contact),
    message.sticker && `Sticker: ${[message.sticker.emoji, message.sticker.set_name].filter(Boolean).join(" ")}`,
    message.poll && `Poll: ${message.poll.question} (${message.poll.options.map((option) => option.text).join(" / ")})`,
    ...otherContent(message),
    message.external_reply && elsewhere(message),
    message.dice && `Dice: ${message.dice.emoji} ${message.dice.value}`,
  ];
  return lines.filter((line) => line !== undefined);
}

function originOf(origin: MessageOrigin): string {
  switch (origin.type) {
    case "user":
      return [origin.sender_user.first_name, origin.sender_user.last_name].filter(Boolean).join(" ");
    case "hidden_user":
      return origin.sender_user_name;
    case "chat":
      return origin.sender_chat.title ?? String(origin.sender_chat.id);
    case "channel":
      return origin.chat.title;
  }
}

const taskText = ({
  text,
  completion_date: done,
}: {
  readonly text: string;
  readonly completion_date?: number;
}): string => (done === undefined ? text : `${text}, done`);

/** Content of which the bot only sees a part. */
function otherContent({ checklist, game, story, paid_media: paid }: Message): readonly (string | undefined)[] {
  return [
    checklist && `Checklist: ${checklist.title} (${checklist.tasks.map(taskText).join(" / ")})`,
    game && `Game: ${game.title}`,
    story && `Story of ${story.chat.title ?? story.chat.first_name ?? story.chat.id}`,
    paid && `Paid media, not visible to bots: ${paid.paid_media.length}`,
  ];
}

/** A reply to a message of another chat. The bot only sees the quoted part of that message. */
function elsewhere({ external_reply: reply, quote }: Message): string | undefined {
  return reply && `Reply to a message of ${originOf(reply.origin)}${quote ? `: ${quote.text}` : " in another chat"}`;
}

function place(message: Message): string | undefined {
  const { venue, location } = message;
  if (venue) return `Place: ${venue.title}, ${venue.address} (${venue.location.latitude}, ${venue.location.longitude})`;
  return location && `Location: ${location.latitude}, ${location.longitude}`;
}

const contact = (person: { first_name: string; last_name?: string; phone_number: string }): string =>
  `Contact: ${[person.first_name, person.last_name].filter(Boolean).join(" ")}, ${person.phone_number}`;
