import type { GapCause, OutboxRow } from "../types/journal.ts";

export type { GapCause } from "../types/journal.ts";

/** Messages that a chat may have missed, for one cause. */
export interface Gap {
  readonly cause: GapCause;
  readonly count: number;
  /** Epoch milliseconds at which the first and the last of the missing chunks were due. */
  readonly from: number;
  readonly to: number;
}

/** Begins the reply key of the line about gaps. When that line is lost, there is no line about it. */
const PREFIX = "gap:";
export const isGapLine = ({ replyKey }: Pick<OutboxRow, "replyKey">): boolean => replyKey.startsWith(PREFIX);

/**
 * The permanent reply key of one line. A row that failed again after an operator's retry is reported once more. A row's number alone
 * would name another row in a restored journal.
 */
export const gapKey = ({ id, createdAt, retriedAt }: OutboxRow): string =>
  `${PREFIX}${id}:${createdAt}${retriedAt === undefined ? "" : `:${retriedAt}`}`;

/** The gaps of rows that were given up, one for each cause. */
export function gapsOf(rows: readonly OutboxRow[]): readonly Gap[] {
  const gaps = new Map<GapCause, Gap>();
  for (const { gap: cause, createdAt } of rows) {
    if (cause === undefined) continue;
    const { count, from, to } = gaps.get(cause) ?? { count: 0, from: createdAt, to: createdAt };
    gaps.set(cause, { cause, count: count + 1, from: Math.min(from, createdAt), to: Math.max(to, createdAt) });
  }
  return [...gaps.values()];
}
