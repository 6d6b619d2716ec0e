import { createHash } from "node:crypto";

/** The part before the server and the device: `4917…` of `4917…:12@s.whatsapp.net`. */
export const userOf = (jid: string): string => jid.split("@")[0]?.split(/[:_]/)[0] ?? "";

const serverOf = (jid: string): string => jid.split("@")[1] ?? "";

/** The address without the device. */
export const bare = (jid: string): string => `${userOf(jid)}@${serverOf(jid).replace(/^c\.us$/, "s.whatsapp.net")}`;

export const isGroup = (jid: string): boolean => serverOf(jid) === "g.us";
export const isLid = (jid: string): boolean => serverOf(jid) === "lid" || serverOf(jid) === "hosted.lid";
const isPhone = (jid: string): boolean => ["s.whatsapp.net", "hosted", "c.us"].includes(serverOf(jid));

/** A broadcast list: each reader sees its messages as direct ones. */
export const isList = (jid: string): boolean => serverOf(jid) === "broadcast" && userOf(jid) !== "status";

/** Stories, channels and Meta's own bots: nobody writes to us there. */
export const isNoChat = (jid: string): boolean =>
  jid === "status@broadcast" || ["newsletter", "bot"].includes(serverOf(jid)) || jid === "0@s.whatsapp.net";

/** The number with leading plus, if the address has one. */
export const phoneOf = (jid: string): string | undefined => (isPhone(jid) ? `+${userOf(jid)}` : undefined);

/** The WhatsApp address for a chat id of the gateway, which is a number or an address. */
export const addressOf = (chat: string): string =>
  chat.includes("@") ? chat : `${chat.replaceAll(/\D/g, "")}@s.whatsapp.net`;

/** The gateway's id of a message. In groups, a reference to a message must name its author. */
export const messageId = (id: string, author?: string): string => (author === undefined ? id : `${id}/${bare(author)}`);

export function readMessageId(text: string): { readonly id: string; readonly author?: string } {
  const [id = "", author] = text.split("/");
  return author === undefined ? { id } : { id, author };
}

const digest = (text: string): string => createHash("sha256").update(text).digest("hex").toUpperCase();

/**
 * The id of one of our messages, in the form of WhatsApp Web's ids. The same seed gives the same id, so that WhatsApp recognises a
 * repeat. The last four digits are a checksum of the others, which identifies our own messages after a restart.
 */
export function ownId(seed: string): string {
  const head = `3EB0${digest(seed).slice(0, 14)}`;
  return head + mark(head);
}

const mark = (head: string): string => digest(`own:${head}`).slice(0, 4);

export const isOwnId = (id: string): boolean =>
  id.length === 22 && id.startsWith("3EB0") && id.endsWith(mark(id.slice(0, 18)));
