import type { InboxRow } from "../../types/journal.ts";
import type { Peer } from "../../types/chat/message.ts";
import { OPERATOR, type Principal } from "../../types/run/principal.ts";
import type { DispatchPorts } from "../ports.ts";

/** For whom a turn acts: for an owner only when all of its messages are owners'. */
export function principalOf(
  rows: readonly Pick<InboxRow, "message">[],
  { settings, kinds }: Pick<DispatchPorts, "settings" | "kinds">,
): Principal {
  const { isOwner } = settings();
  const row = rows.find(({ message }) => !isOwner(message)) ?? rows[0];
  if (!row) return { kind: "sender", id: "nobody" };
  const { message } = row;
  const automation = kinds.of(message).actsFor?.(message);
  if (automation) return automation;
  if (message.options?.operator === true) return OPERATOR;
  const { sender, from } = message;
  const id = `${from.channel}:${sender.e164 ?? sender.id}`;
  const name = sender.name ?? sender.username;
  const other = from.chat.kind === "group" ? "member" : "sender";
  return { kind: isOwner(message) ? "owner" : other, id, ...(name !== undefined && { name }) };
}

/** The name of a chat in a question to a person. */
export const chatName = ({ channel, chat }: Peer): string =>
  chat.kind === "group" ? `the group ${chat.title ?? ""} (${channel}:${chat.id})` : `${channel}:${chat.id}`;
