import type { Message, MessageEntity } from "grammy/types";
import { openingMentionEnd } from "openclaw/plugin-sdk";
import type { Self } from "../api.ts";

/**
 * The text of a message (the emoji of a sticker) without the bot's name at its start and after its command, and whether it mentions
 * the bot.
 */
export function addressedText(message: Message, self: Self): { readonly text: string; readonly named: boolean } {
  const shown = message.text ?? message.caption ?? "";
  const text = textOf(message) ?? message.sticker?.emoji ?? "";
  const naming = entitiesOf(message).filter((entity) => names(entity, shown, self));
  const mentions = naming.filter((entity) => entity.type !== "bot_command");
  const begin = openingMentionEnd(shown, (at) => mentions.find(({ offset }) => offset === at)?.length ?? 0);
  const command = naming.find((entity) => entity.type === "bot_command" && entity.offset === begin);
  return { text: (command ? withoutName(text, command) : text).slice(begin), named: naming.length > 0 };
}

/** The text or caption of a message. Hidden links get their URL in parentheses. */
export function textOf(message: Message): string | undefined {
  const shown = message.text ?? message.caption;
  return shown && withLinks(shown, entitiesOf(message));
}

const entitiesOf = ({ entities, caption_entities: ofCaption }: Message): readonly MessageEntity[] =>
  entities ?? ofCaption ?? [];

function withLinks(text: string, entities: readonly MessageEntity[]): string {
  const parts: string[] = [];
  let at = 0;
  const links = entities.filter((entity) => entity.type === "text_link");
  for (const link of links.toSorted((a, b) => endOf(a) - endOf(b))) {
    if (covered(text, link).trim() === link.url) continue;
    parts.push(text.slice(at, endOf(link)), ` (${onlyAddress(link.url)})`);
    at = endOf(link);
  }
  return parts.join("") + text.slice(at);
}

const endOf = ({ offset, length }: MessageEntity): number => offset + length;

/** Encodes characters that could begin a line, a code fence or a bracketed note. */
const onlyAddress = (url: string): string => url.toWellFormed().replaceAll(/[\s\p{Cc}`[\]]/gu, encodeURIComponent);

// Offsets count UTF-16 units, as strings do here.
const covered = (text: string, entity: MessageEntity): string =>
  text.slice(entity.offset, entity.offset + entity.length);

/** UTF-16 units of a command with the name of a bot. */
const LONGEST_NAME = 100;

function names(entity: MessageEntity, text: string, self: Self): boolean {
  if (entity.type === "text_mention") return entity.user.id === self.id;
  if (entity.length > LONGEST_NAME) return false;
  const word = covered(text, entity).toLowerCase();
  const name = `@${self.username.toLowerCase()}`;
  if (entity.type === "mention") return word === name;
  return entity.type === "bot_command" && word.endsWith(name);
}

function withoutName(text: string, command: MessageEntity): string {
  const name = command.offset + covered(text, command).indexOf("@");
  return text.slice(0, name) + text.slice(command.offset + command.length);
}
