import type { CommandForm } from "../types/chat/channel.ts";
import type { Peer } from "../types/chat/message.ts";
import type { DispatchPorts } from "./ports.ts";

/** How people of this chat write a command. Undefined where that is a slash and the name, or while the chat has no link. */
export const commandFormOf = ({ link }: Pick<DispatchPorts, "link">, chat: Peer): CommandForm | undefined =>
  link(chat)?.commandForm?.(chat);

/** Our own text that names commands such as `/new`, with each command as people of the chat write it. */
export const inCommandForm = (text: string, { prefix }: CommandForm = { prefix: "/" }): string =>
  text.replaceAll(/(?<=^|\s)\/(?=[a-z])/g, () => prefix);
