import type { OutboxRow } from "../types/journal.ts";
import type { Peer } from "../types/message.ts";

/** Why a chat may miss something. `late`: too old when it could be sent. `unknown`: it may be there. `refused`: a part of an answer. */
export type GapCause = "late" | "unknown" | "refused";

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

export interface GapLine {
  readonly replyKey: string;
  readonly to: Peer;
  readonly gaps: readonly Gap[];
}

interface Open {
  readonly to: Peer;
  readonly firstRow: number;
  readonly gaps: Map<GapCause, Gap>;
}

/** What was given up, chat by chat, until the chat is told in one line. */
export class Gaps {
  readonly #open = new Map<string, Open>();

  /** True when the chat knew of none: it is to be told behind what waits for it now. */
  add(chat: string, row: OutboxRow, cause: GapCause): boolean {
    const known = this.#open.get(chat);
    const open = known ?? { to: row.to, firstRow: row.id, gaps: new Map<GapCause, Gap>() };
    const before = open.gaps.get(cause);
    const from = Math.min(before?.from ?? row.createdAt, row.createdAt);
    const to = Math.max(before?.to ?? row.createdAt, row.createdAt);
    open.gaps.set(cause, { cause, count: (before?.count ?? 0) + 1, from, to });
    this.#open.set(chat, open);
    return known === undefined;
  }

  take(chat: string): GapLine | undefined {
    const open = this.#open.get(chat);
    this.#open.delete(chat);
    return open && { replyKey: `${NAME}${open.firstRow}`, to: open.to, gaps: [...open.gaps.values()] };
  }
}
