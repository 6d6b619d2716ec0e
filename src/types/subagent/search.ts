import { z } from "zod";
import { keyField } from "../key-field.ts";
import type { Answer } from "../method.ts";

export interface SessionSearch {
  /** Words in any order. */
  readonly query: string;
  readonly limit: number;
  readonly signal: AbortSignal;
}

/** A message with words of a query, in the protocol's names. */
const hit = z.looseObject({
  sessionKey: keyField(),
  sessionId: z.string(),
  messageId: z.string(),
  role: z.enum(["user", "assistant"]),
  /** Epoch milliseconds. */
  timestamp: z.number(),
  snippet: z.string(),
  /** More than 0; 1 for all words, 2 for the query as it was written. */
  score: z.number(),
});
export type SessionHit = Answer<z.output<typeof hit>>;

/** The answer of `sessions.search`. `truncated`: there may be more. */
export const sessionHits = z.looseObject({
  results: z.array(hit),
  truncated: z.literal(true).optional(),
  /** Rows of the conversations that were found, for a client that shows them in a list. */
  sessions: z.array(z.looseObject({ key: keyField() })).optional(),
});
export type SessionHits = Answer<z.output<typeof sessionHits>>;
