import type { SessionKey } from "../ids.ts";

export interface SessionSearch {
  /** Words in any order. */
  readonly query: string;
  readonly limit: number;
  readonly signal: AbortSignal;
}

/** A message with words of a query, in the protocol's names. */
export interface SessionHit {
  readonly sessionKey: SessionKey;
  readonly sessionId: string;
  readonly messageId: string;
  readonly role: "user" | "assistant";
  /** Epoch milliseconds. */
  readonly timestamp: number;
  readonly snippet: string;
  /** More than 0; 1 for all words, 2 for the query as it was written. */
  readonly score: number;
}

export interface SessionHits {
  readonly results: readonly SessionHit[];
  /** There may be more. */
  readonly truncated?: true;
}
