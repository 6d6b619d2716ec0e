import { partText } from "../../outbox/render.ts";
import type { InboxRow, OutboxRow } from "../../types/journal.ts";

/** A message for display: its origin, its text, its outcome. */
export function cameIn(row: InboxRow) {
  const { message, ...facts } = row;
  const { from, sender, text, media, id } = message;
  return {
    ...facts,
    channel: from.channel,
    account: from.account,
    chat: from.chat.id,
    chatKind: from.chat.kind,
    ...(from.thread !== undefined && { thread: from.thread }),
    messageId: id,
    sender: { id: sender.id, ...(sender.name !== undefined && { name: sender.name }) },
    text,
    files: media.length,
    receivedAt: message.receivedAt,
    ...(message.sentAt !== undefined && { writtenAt: message.sentAt }),
    ...(message.event !== undefined && { event: message.event }),
    ...(message.options?.operator === true && { isOperator: true }),
  };
}

/** One chunk of a reply, with the text that the chat gets. */
export function wentOut(row: OutboxRow) {
  const { to, body, buttons: _shown, ...facts } = row;
  return {
    ...facts,
    channel: to.channel,
    account: to.account,
    chat: to.chat.id,
    ...(to.thread !== undefined && { thread: to.thread }),
    kind: body.kind,
    ...(body.kind === "media" && { files: 1 + (body.more?.length ?? 0) }),
    text: partText(body),
  };
}
