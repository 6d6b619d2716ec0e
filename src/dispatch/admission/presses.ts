import type { InboundMessage, Peer } from "../../types/chat/message.ts";
import { within } from "../../utils/within.ts";
import { FOREIGN_PRESS } from "../chat-texts.ts";
import type { DispatchPorts, Verdict } from "../ports.ts";

type PressPorts = Pick<DispatchPorts, "clock" | "journal" | "link" | "linked">;

/** Milliseconds that a press of an earlier start waits for the connection of its account. */
const LINK_MS = 30_000;

/**
 * Whether a press of somebody who may write in its chat counts: a message from here must have that button, and the press must come from
 * the chat where that message was shown. Ids of messages repeat from chat to chat, and other programs may use the same bot. Rejects when
 * the platform does not answer which chat it is.
 */
export async function verdictOnPress(message: InboundMessage, ports: PressPorts): Promise<Verdict> {
  const { from, id, text } = message;
  const chats = await ports.journal.outbox.chatsOf(from, id, text);
  if (chats.length === 0) return { kind: "drop", why: "a button that was not sent from here" };
  if (await isOneOf(chats, from, ports)) return { kind: "pass" };
  return {
    kind: "drop",
    why: "a press from another chat than the one where the button was shown",
    notice: FOREIGN_PRESS,
  };
}

/** A chat may have several names, and only the platform knows which are the same. */
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

async function linkTo(from: Peer, { clock, link, linked }: PressPorts): Promise<ReturnType<DispatchPorts["link"]>> {
  const stop = new AbortController();
  if (!link(from) && linked) await within(linked(from, stop.signal), LINK_MS, clock);
  stop.abort();
  return link(from);
}
