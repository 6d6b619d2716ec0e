import type { Message, MessageOrigin } from "grammy/types";

/** Lines about what is neither text nor a file: who wrote a forwarded message, a place, a person. */
export function untrustedOf(message: Message): readonly string[] {
  const lines = [
    message.forward_origin && `Forwarded from ${originOf(message.forward_origin)}`,
    place(message),
    message.contact && contact(message.contact),
    message.sticker && `Sticker: ${[message.sticker.emoji, message.sticker.set_name].filter(Boolean).join(" ")}`,
    message.poll && `Poll: ${message.poll.question} (${message.poll.options.map((option) => option.text).join(" / ")})`,
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

function place(message: Message): string | undefined {
  const { venue, location } = message;
  if (venue) return `Place: ${venue.title}, ${venue.address} (${venue.location.latitude}, ${venue.location.longitude})`;
  return location && `Location: ${location.latitude}, ${location.longitude}`;
}

const contact = (person: { first_name: string; last_name?: string; phone_number: string }): string =>
  `Contact: ${[person.first_name, person.last_name].filter(Boolean).join(" ")}, ${person.phone_number}`;
