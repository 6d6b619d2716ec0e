import type { GroupMetadata } from "@whiskeysockets/baileys";
import { bare, isLid, phoneOf, userOf } from "./jid.ts";

/** Somebody in a group. */
export interface Member {
  /** What the group calls them: a number's address, or a LID (Baileys: `addressing_mode`). */
  readonly address: string;
  /** With leading plus, where it is known. */
  readonly phone?: string | undefined;
  readonly lid?: string | undefined;
}

/** The people of a group; `phones` has numbers of LIDs that the group itself does not tell. */
export const membersOf = (group: GroupMetadata, phones: ReadonlyMap<string, string>): readonly Member[] =>
  group.participants.map(({ id, phoneNumber, lid }) => ({
    address: bare(id),
    lid: isLid(id) ? id : lid,
    phone: phoneOf(id) ?? (phoneNumber ? phoneOf(phoneNumber) : undefined) ?? phones.get(bare(id)),
  }));

/** LIDs in a group that come without their number. */
export const unknownIn = ({ participants }: GroupMetadata): readonly string[] =>
  participants.flatMap(({ id, phoneNumber }) => (isLid(id) && !phoneNumber ? [bare(id)] : []));

/** Digits as they stand behind an `@`: a number, with or without its plus, or a LID. */
const NAMED = /(?<!\w)@(\+?)(\d{5,20})\b/g;

export const namesSomebody = (text: string): boolean => text.search(NAMED) >= 0;

/**
 * The text with people as their phones find them: by the digits that the group itself calls them by, and their addresses
 * beside it. Digits of nobody in the group stay as they are.
 */
export function withMentions(
  text: string,
  members: readonly Member[],
): { readonly text: string; readonly mentions: readonly string[] } {
  const mentions = new Set<string>();
  const written = text.replaceAll(NAMED, (word, plus: string, digits: string) => {
    const member = members.find((one) => isMeant(one, plus === "+", digits));
    if (!member) return word;
    mentions.add(member.address);
    return `@${userOf(member.address)}`;
  });
  return { text: written, mentions: [...mentions] };
}

const isMeant = ({ phone, lid = "" }: Member, isNumber: boolean, digits: string): boolean =>
  phone === `+${digits}` || (!isNumber && userOf(lid) === digits);
