import type { WAMessage, WAMessageContent } from "@whiskeysockets/baileys";
import type { ChatNews } from "openclaw/plugin-sdk";
import { z } from "zod";
import { bare, isGroup, messageId } from "../jid.ts";
import { isSelf, nameOf } from "../view.ts";
import type { MessageView } from "../view.ts";

/** `ProtocolMessage.Type.REVOKE`, and the type of a `pinInChatMessage` that pins, in WhatsApp's protocol. */
const REVOKE = 0;
const PIN = 1;
/** `WebMessageInfo.StubType` of the changes of a group. */
const RENAMED = 21;
const JOINED = [27, 31];
const LEFT = [28, 32];

/** Whether a message without content reports a change of its group that the agent should know of. */
export const isNotice = ({ messageStubType: type }: WAMessage): boolean =>
  type != null && [RENAMED, ...JOINED, ...LEFT].includes(type);

type Names = Pick<MessageView, "phones" | "self" | "names">;

/** News in a message that nobody wrote; undefined for other messages, and for news about the bot itself. */
export function newsOf(message: WAMessage, content: WAMessageContent, view: Names): ChatNews | undefined {
  const { protocolMessage: change, pinInChatMessage: pin } = content;
  if (change?.type === REVOKE && change.key?.id) return deletion(message, change.key, view);
  if (isNotice(message)) return noticeOf(message, view);
  if (!pin?.key?.id) return undefined;
  const kind = pin.type === PIN ? "pinned" : "unpinned";
  return { kind, messageId: idIn(message, pin.key.id, pin.key.fromMe ? undefined : pin.key.participant) };
}

type Key = NonNullable<NonNullable<WAMessageContent["protocolMessage"]>["key"]>;

/** An admin of a group may delete messages of others. */
function deletion(message: WAMessage, { id, participant }: Key, view: Names): ChatNews {
  const { participant: deleter } = message.key;
  const author = participant ?? deleter;
  const isOthers = author && deleter && bare(author) !== bare(deleter);
  return {
    kind: "deleted",
    messageId: idIn(message, id ?? "", author),
    ...(isOthers && { subject: nameOf(author, view) }),
  };
}

/** Id of a message. In groups, a reference to a message names its author. */
const idIn = ({ key }: WAMessage, id: string, author: string | null | undefined): string =>
  messageId(id, isGroup(key.remoteJid ?? "") ? (author ?? undefined) : undefined);

function noticeOf({ key, messageStubType: type, messageStubParameters }: WAMessage, view: Names): ChatNews | undefined {
  const given: readonly string[] = messageStubParameters ?? [];
  if (type === RENAMED) return { kind: "renamed", subject: given[0] ?? "" };
  const people = given.map(jidIn).filter((jid) => !isSelf(jid, view.self));
  if (people.length === 0) return undefined;
  const kind = LEFT.includes(type ?? 0) ? "left" : "joined";
  const isSender = people.every((jid) => bare(jid) === bare(key.participant ?? ""));
  return { kind, ...(!isSender && { subject: people.map((jid) => nameOf(jid, view)).join(", ") }) };
}

const personShape = z.object({ id: z.string(), phoneNumber: z.string().optional() });

/** The library gives a person as JSON. */
function jidIn(given: string): string {
  const { id, phoneNumber } = personShape.parse(JSON.parse(given));
  return phoneNumber ?? id;
}
