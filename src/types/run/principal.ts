import type { SessionKey } from "../ids.ts";

/**
 * For whom a turn acts. What the turn may read, write, run and send follows from it, never from the session alone.
 * - `owner`: somebody whom `commands.ownerAllowFrom` names, or whoever holds the gateway's token.
 * - `sender`: a person in a direct chat who is no owner.
 * - `member`: a person in a group who is no owner.
 * - `automation`: nobody wrote; it acts with the rights of whoever set it up.
 */
export type Principal =
  | { readonly kind: "owner" | "sender" | "member"; readonly id: string; readonly name?: string }
  | { readonly kind: "automation"; readonly id: string; readonly name?: string; readonly setUpBy: "owner" | "guest" };

/** Whoever holds the gateway's token: the page, the command line, HTTP clients. */
export const OPERATOR: Principal = { kind: "owner", id: "operator" };

/** A turn of everybody else's is a guest's turn. */
export function hasOwnerRights(principal: Principal): boolean {
  return principal.kind === "owner" || (principal.kind === "automation" && principal.setUpBy === "owner");
}

/** Who acts, and in which conversation. */
export interface Acting {
  readonly principal: Principal;
  readonly sessionKey: SessionKey;
  /** Id of the current conversation of the session key; unset before its first message. */
  readonly sessionId?: string;
  /** The turn is a subagent's. */
  readonly isSubagent?: boolean;
}
