import type { SessionKey } from "../../../types/ids.ts";
import type { Inbox } from "../../../types/journal.ts";
import type { QueuedTurn } from "../../ports.ts";
import { runIdOf, turnIdOf } from "../ids.ts";

/** Takes rows for this boot, before anything is done for them. What has ended since it came here is left out; undefined when that is all. */
export async function claimRows(queued: QueuedTurn, key: SessionKey, inbox: Inbox): Promise<QueuedTurn | undefined> {
  const { text, ...rest } = queued;
  for (let rows = queued.rows; ;) {
    const [first] = rows;
    if (!first) return undefined;
    const claim = { sessionKey: key, runId: runIdOf(first), turnId: turnIdOf(first) };
    const taken = new Set(
      await inbox.claim(
        rows.map(({ id }) => id),
        claim,
      ),
    );
    const isHead = first === queued.rows[0];
    if (taken.size === rows.length) return { ...rest, rows, ...(isHead && text !== undefined && { text }) };
    rows = rows.filter(({ id }) => taken.has(id));
  }
}
