import { chatEvent } from "../../prompt/chat-event.ts";
import type { InboundMessage, Peer } from "../../types/chat/message.ts";
import type { SessionKey } from "../../types/ids.ts";
import { kindNameOf } from "../../types/run/turn-kind.ts";
import type { DispatchPorts, Verdict } from "../ports.ts";
import { within } from "../../utils/within.ts";
import { FOREIGN_PRESS } from "../notices/chat-texts.ts";

/** Whether a plugin has the hook `message_received`. */
export const isReceivedWatched = ({ runs: { hooks } }: Pick<DispatchPorts, "runs">): boolean =>
  hooks?.has("message_received") === true;

/** Calls `message_received` for a message that the gateway answers. Nobody waits for the hooks. */
export function notifyReceived(
  message: InboundMessage,
  sessionKey: SessionKey,
  { runs }: Pick<DispatchPorts, "runs">,
): void {
  if (!isReceivedWatched({ runs })) return;
  const { hooks } = runs;
  const { id, from, sender, text, sentAt, receivedAt } = message;
  const event = {
    content: text,
    from: from.chat.id,
    senderId: sender.id,
    timestamp: sentAt ?? receivedAt,
    isGroup: from.chat.kind === "group",
    messageId: id,
    sessionKey,
    ...(from.thread !== undefined && { threadId: from.thread }),
    ...(message.replyTo && { replyToId: message.replyTo.id }),
    metadata: {
      channel: from.channel,
      ...(sender.name !== undefined && { senderName: sender.name }),
      ...(sender.username !== undefined && { senderUsername: sender.username }),
    },
  };
  const place = { channelId: from.channel, accountId: from.account, conversationId: from.chat.id };
  const context = { ...place, sessionKey, senderId: sender.id, messageId: id };
  hooks.notify("message_received", event, context);
}

/**
 * Whether a message may be answered; messages of operators may. Rejects when the platform does not say where a button
 * was pressed.
 */
export async function verdictOn(
  message: InboundMessage,
  ports: Pick<DispatchPorts, "clock" | "chats" | "storage" | "kinds">,
): Promise<Verdict> {
  if (message.options?.operator === true)
    return { kind: ports.kinds.of(message).isForNextTurn?.(message) === true ? "event" : "pass" };
  const verdict = await ports.chats.gate(message);
  return verdict.kind === "pass" && message.event === "button" ? verdictOnPress(message, ports) : verdict;
}

/**
 * Adds a reaction, or news of a chat or of another program, to the system events of the session. Rejects when the
 * journal cannot be written.
 */
export async function noteEvent(
  message: InboundMessage,
  key: SessionKey,
  { storage: { journal }, kinds, chats: { labelOf } }: Pick<DispatchPorts, "storage" | "kinds" | "chats">,
): Promise<void> {
  const text = kinds.of(message).news?.(message) ?? chatEvent(message, labelOf(message.from.channel));
  if (text !== undefined) await journal.events.add(key, text);
}

export const unknownKind = ({ options }: InboundMessage): string =>
  `this gateway knows no turn of the kind "${kindNameOf(options)}"`;

type PressPorts = Pick<DispatchPorts, "clock" | "storage" | "chats">;

/** Milliseconds that a press of an earlier start waits for the connection of its account. */
const LINK_MS = 30_000;

/**
 * Whether a press of a button counts, by somebody who may write in its chat: a message of this gateway must have that
 * button, and the press must come from the chat where that message was shown. Ids of messages repeat from chat to chat,
 * and other programs may use the same bot. Rejects when the platform does not answer which chat the press is from.
 */
async function verdictOnPress(message: InboundMessage, ports: PressPorts): Promise<Verdict> {
  const { from, id, text } = message;
  const chats = await ports.storage.journal.outbox.chatsOf(from, id, text);
  if (chats.length === 0) return { kind: "drop", why: "a button that was not sent from here" };
  if (await isOneOf(chats, from, ports)) return { kind: "pass" };
  return {
    kind: "drop",
    why: "a press from another chat than the one where the button was shown",
    notice: FOREIGN_PRESS,
  };
}

/**
 * Whether `from` is one of these chats. A chat may have several names, and only the platform knows which names mean the
 * same chat.
 */
async function isOneOf(chats: readonly Peer[], from: Peer, ports: PressPorts): Promise<boolean> {
  if (chats.some((chat) => isNamedAlike(chat, from))) return true;
  const link = await linkTo(from, ports);
  const idOf = async (chat: Peer): Promise<string> => link?.chatId?.(chat) ?? chat.chat.id;
  const id = await idOf(from);
  for (const chat of chats) if ((await idOf(chat)) === id) return true;
  return false;
}

const isNamedAlike = (one: Peer, other: Peer): boolean =>
  one.chat.id === other.chat.id && one.chat.kind === other.chat.kind && one.thread === other.thread;

async function linkTo(
  from: Peer,
  { clock, chats: { link, linked } }: PressPorts,
): Promise<ReturnType<DispatchPorts["chats"]["link"]>> {
  const stop = new AbortController();
  if (!link(from)) await within(linked(from, stop.signal), LINK_MS, clock);
  stop.abort();
  return link(from);
}
