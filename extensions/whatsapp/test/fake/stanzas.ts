import type { BinaryNode, proto } from "@whiskeysockets/baileys";
import { userOf } from "../../jid.ts";

export const SERVER = "s.whatsapp.net";
export const DEVICE = { jid: `4915550001:1@${SERVER}`, lid: "900900:1@lid", name: "Claw" } as const;
export const GROUP = "120363000000000001@g.us";

export const seconds = (): string => String(Math.floor(Date.now() / 1000));
export const children = (node: BinaryNode | undefined): readonly BinaryNode[] =>
  Array.isArray(node?.content) ? node.content : [];

/** What a reader gets of a stanza: its key first, then the message for all. */
export function envelopes(
  node: BinaryNode,
  reader: { readonly phone: string; readonly lid: string },
): readonly { type: string; bytes: Uint8Array }[] {
  const parts = children(node);
  const own = children(parts.find(({ tag }) => tag === "participants")).find(({ attrs }) =>
    [reader.phone, reader.lid].some((jid) => userOf(jid) === userOf(attrs["jid"]!)),
  );
  return [...children(own), ...parts]
    .filter(({ tag }) => tag === "enc")
    .map(({ attrs, content }) => ({ type: attrs["type"]!, bytes: content as Uint8Array }));
}

export const textIn = (content: proto.IMessage): string =>
  content.conversation ||
  content.extendedTextMessage?.text ||
  (content.imageMessage ?? content.videoMessage ?? content.documentMessage)?.caption ||
  "";

export type Addressing = "pn" | "lid";

interface Member {
  readonly phone: string;
  readonly lid: string;
  /** Where the group tells no number of a LID. */
  readonly hidesNumber?: boolean;
}

/** A group calls its people by number or by LID, with the other address beside it (`extractGroupMetadata`). */
export function groupNode(members: readonly Member[], mode: Addressing): BinaryNode {
  const people = members.map(({ phone, lid, hidesNumber }) => {
    const number: Record<string, string> = hidesNumber ? {} : { phone_number: phone };
    return { tag: "participant", attrs: mode === "lid" ? { jid: lid, ...number } : { jid: phone, lid } };
  });
  const attrs = { id: userOf(GROUP), subject: "Crew", s_t: "1", creation: "1", addressing_mode: mode };
  return { tag: "group", attrs, content: people };
}

export function mediaHosts(port: number): BinaryNode {
  const attrs = { hostname: `127.0.0.1:${port}`, maxContentLengthBytes: "104857600" };
  return { tag: "media_conn", attrs: { auth: "a", ttl: "300" }, content: [{ tag: "host", attrs }] };
}
