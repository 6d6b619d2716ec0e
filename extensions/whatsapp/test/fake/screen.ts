import type { proto } from "@whiskeysockets/baileys";
import { textIn } from "./stanzas.ts";

/** A message of the bot as people see it. */
export interface Shown {
  readonly id: string;
  readonly chat: string;
  text: string;
  readonly content: proto.IMessage;
  readonly quoted?: string | undefined;
}

/** What stands on the people's phones. */
export class Screen {
  readonly shown: Shown[] = [];
  /** Emoji by the id of the message. */
  readonly reactions = new Map<string, string>();

  /** A message, or what it changes of another. */
  take(id: string, chat: string, content: proto.IMessage): void {
    const { protocolMessage: change, reactionMessage: reaction } = content;
    if (reaction) this.#react(reaction);
    else if (change) this.#change(change);
    else if (!this.shown.some((message) => message.id === id)) {
      const quoted = content.extendedTextMessage?.contextInfo?.stanzaId ?? undefined;
      this.shown.push({ id, chat, text: textIn(content), content, quoted });
    }
  }

  #react({ key, text }: proto.Message.IReactionMessage): void {
    if (text) this.reactions.set(key!.id!, text);
    else this.reactions.delete(key!.id!);
  }

  #change({ key, editedMessage }: proto.Message.IProtocolMessage): void {
    const target = this.shown.findIndex((message) => message.id === (key?.id ?? ""));
    if (target < 0) return;
    if (editedMessage) this.shown[target]!.text = textIn(editedMessage);
    else this.shown.splice(target, 1);
  }
}
