import type { Message, MessageEntity } from "grammy/types";
import type { Self } from "./api.ts";

/** The text of a message (of a sticker its emoji) without our name behind a command, and whether the bot is named in it. */
export function addressOf(message: Message, self: Self): { readonly text: string; readonly named: boolean } {
  const text = message.text ?? message.caption ?? message.sticker?.emoji ?? "";
  const entities = message.entities ?? message.caption_entities ?? [];
  const naming = entities.filter((entity) => names(entity, text, self));
  const command = naming.find((entity) => entity.type === "bot_command" && entity.offset === 0);
  return { text: command ? withoutName(text, command) : text, named: naming.length > 0 };
}

// Offsets count UTF-16 units, as strings do here.
const covered = (text: string, entity: MessageEntity): string =>
  text.slice(entity.offset, entity.offset + entity.length);

function names(entity: MessageEntity, text: string, self: Self): boolean {
  if (entity.type === "text_mention") return entity.user.id === self.id;
  const word = covered(text, entity).toLowerCase();
  const name = `@${self.username.toLowerCase()}`;
  if (entity.type === "mention") return word === name;
  return entity.type === "bot_command" && word.endsWith(name);
}

function withoutName(text: string, command: MessageEntity): string {
  const word = covered(text, command);
  return word.slice(0, word.indexOf("@")) + text.slice(command.length);
}
