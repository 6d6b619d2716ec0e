import type { AccountId } from "openclaw/plugin-sdk";
import { bare, phoneOf } from "./jid.ts";

/** The linked account. `lid` is its address in groups. */
export interface Self {
  readonly jid: string;
  readonly lid?: string;
  readonly name: string;
}

/** Facts about this account and the people in a message that its conversion needs. */
export interface MessageView {
  readonly account: AccountId;
  readonly self: Self;
  readonly now: number;
  readonly ownChat: boolean;
  /** Numbers of people by their bare LID. */
  readonly phones: ReadonlyMap<string, string>;
  /** Names of people by their number or bare LID. */
  readonly names: ReadonlyMap<string, string>;
  readonly title?: string | undefined;
}

export const isSelf = (jid: string, self: Self): boolean =>
  [self.jid, self.lid].some((own) => own !== undefined && bare(own) === bare(jid));

/** The name of a person, or else their number or address. */
export function nameOf(jid: string, view: Pick<MessageView, "phones" | "self" | "names">): string {
  const id = idOf(jid, view);
  return isSelf(jid, view.self) ? view.self.name : (view.names.get(id) ?? id);
}

/** A person's number if known, else the address that WhatsApp uses instead. */
export function idOf(jid: string, view: Pick<MessageView, "phones" | "self">, alt?: string | null): string {
  if (isSelf(jid, view.self)) return phoneOf(view.self.jid) ?? bare(jid);
  return phoneOf(jid) ?? (alt ? phoneOf(alt) : undefined) ?? view.phones.get(bare(jid)) ?? bare(jid);
}
