import type { CommandForm } from "../types/chat/channel.ts";
import type { Peer } from "../types/chat/message.ts";
import type { DispatchPorts } from "./ports.ts";

/** How people of this chat write a command; undefined where it is a slash and the name, or the chat has no connection now. */
export const commandFormOf = ({ link }: Pick<DispatchPorts, "link">, chat: Peer): CommandForm | undefined =>
  link(chat)?.commandForm?.(chat);

/** Words of our own in which a command such as `/new` is named, with each command as people of the chat write it. */
export const inCommandForm = (words: string, { prefix }: CommandForm = { prefix: "/" }): string =>
  words.replaceAll(/(?<=^|\s)\/(?=[a-z])/g, () => prefix);
