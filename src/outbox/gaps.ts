import type { GapCause, OutboxRow } from "../types/journal.ts";

export type { GapCause } from "../types/journal.ts";

/** What a chat may miss. */
export interface Gap {
  readonly cause: GapCause;
  readonly count: number;
  /** Epoch milliseconds at which the first and the last of it were to be sent. */
  readonly from: number;
  readonly to: number;
}

/** Names the line that tells a chat of gaps; it is told of no gap itself. */
const NAME = "gap:";
export const isGapLine = ({ replyKey }: Pick<OutboxRow, "replyKey">): boolean => replyKey.startsWith(NAME);

/** Names one line for ever. A row that was sent again for an operator, and in vain, is told once more. */
export const gapKey = ({ id, retriedAt }: OutboxRow): string =>
  retriedAt === undefined ? `${NAME}${id}` : `${NAME}${id}:${retriedAt}`;

/** What was given up, cause by cause. */
export function gapsOf(rows: readonly OutboxRow[]): readonly Gap[] {
  const gaps = new Map<GapCause, Gap>();
  for (const { gap: cause, createdAt } of rows) {
    if (cause === undefined) continue;
    const { count, from, to } = gaps.get(cause) ?? { count: 0, from: createdAt, to: createdAt };
    gaps.set(cause, { cause, count: count + 1, from: Math.min(from, createdAt), to: Math.max(to, createdAt) });
  }
  return [...gaps.values()];
}
