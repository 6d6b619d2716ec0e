import type { Claim, Inbox } from "../../../types/journal.ts";
import type { QueuedTurn } from "../../ports.ts";
import { runIdOf, turnIdOf } from "../ids.ts";

/**
 * Claims rows for this process before any work on them; the claim is synced while the model is asked, and before a tool runs. Rows that have ended since are left out; undefined when none remain.
 */
export async function claimRows(
  queued: QueuedTurn,
  place: Pick<Claim, "sessionKey" | "agentId">,
  inbox: Inbox,
): Promise<QueuedTurn | undefined> {
  const { text, ...rest } = queued;
  for (let rows = queued.rows; ;) {
    const [first] = rows;
    if (!first) return undefined;
    const claim = { ...place, runId: runIdOf(first), turnId: turnIdOf(first) };
    const taken = new Set(
      await inbox.claimAhead(
        rows.map(({ id }) => id),
        claim,
      ),
    );
    const isHead = first === queued.rows[0];
    if (taken.size === rows.length) return { ...rest, rows, ...(isHead && text !== undefined && { text }) };
    rows = rows.filter(({ id }) => taken.has(id));
  }
}
