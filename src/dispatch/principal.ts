import type { InboxRow } from "../types/journal.ts";
import type { Peer } from "../types/message.ts";
import { OPERATOR, type Principal } from "../types/principal.ts";
import { isHeartbeat } from "./heartbeat.ts";
import type { DispatchSettings } from "./ports.ts";

/** For whom a turn acts: for an owner only when all of its messages are owners'. */
export function principalOf(
  rows: readonly Pick<InboxRow, "message">[],
  { isOwner }: Pick<DispatchSettings, "isOwner">,
): Principal {
  const row = rows.find(({ message }) => !isOwner(message)) ?? rows[0];
  if (!row) return { kind: "sender", id: "nobody" };
  const { message } = row;
  // What wakes an agent by itself is set up in the config, which is the operator's.
  if (isHeartbeat(message)) return { kind: "automation", id: "heartbeat", setUpBy: "owner" };
  if (message.options?.operator === true) return OPERATOR;
  const { sender, from } = message;
  const id = `${from.channel}:${sender.e164 ?? sender.id}`;
  const name = sender.name ?? sender.username;
  const other = from.chat.kind === "group" ? "member" : "sender";
  return { kind: isOwner(message) ? "owner" : other, id, ...(name !== undefined && { name }) };
}

/** A chat in words for a person who is asked something. */
export const chatName = ({ channel, chat }: Peer): string =>
  chat.kind === "group" ? `the group ${chat.title ?? ""} (${channel}:${chat.id})` : `${channel}:${chat.id}`;
