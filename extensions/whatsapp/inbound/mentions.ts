import type { GroupMetadata } from "@whiskeysockets/baileys";
import { bare, isLid, phoneOf, userOf } from "../jid.ts";

/** A member of a group. */
export interface GroupMember {
  /** The address in this group: of a number, or a LID (Baileys: `addressing_mode`). */
  readonly address: string;
  /** Number with leading plus, if known. */
  readonly phone?: string | undefined;
  readonly lid?: string | undefined;
}

/** The members of a group; `phones` has numbers of LIDs that the group's data lacks. */
export const membersOf = (group: GroupMetadata, phones: ReadonlyMap<string, string>): readonly GroupMember[] =>
  group.participants.map(({ id, phoneNumber, lid }) => ({
    address: bare(id),
    lid: isLid(id) ? id : lid,
    phone: phoneOf(id) ?? (phoneNumber ? phoneOf(phoneNumber) : undefined) ?? phones.get(bare(id)),
  }));

/** LIDs in a group whose number the group's data lacks. */
export const lidsWithoutPhone = ({ participants }: GroupMetadata): readonly string[] =>
  participants.flatMap(({ id, phoneNumber }) => (isLid(id) && !phoneNumber ? [bare(id)] : []));

/** An `@` with digits: a phone number, with or without its plus, or a LID. */
const NAMED = /(?<!\w)@(\+?)(\d{5,20})\b/g;

export const namesSomebody = (text: string): boolean => text.search(NAMED) >= 0;

/**
 * Converts mentions to WhatsApp's form: the digits of the member's address in the group, and a list of the addresses. Digits that
 * match no member stay unchanged.
 */
export function withMentions(
  text: string,
  members: readonly GroupMember[],
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

const isMeant = ({ phone, lid = "" }: GroupMember, isNumber: boolean, digits: string): boolean =>
  phone === `+${digits}` || (!isNumber && userOf(lid) === digits);
