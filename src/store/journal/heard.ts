import type { InboxRow } from "../../types/journal.ts";
import type { Peer } from "../../types/chat/message.ts";
import { anyJson, count } from "./columns.ts";
import type { Commits } from "./commits.ts";
import { readPeer } from "./inbox/read-message.ts";
import { toInboxRow } from "./inbox/rows.ts";

/** No reader shows more lines. */
const MOST = 5000;
const HEARD = `
  SELECT * FROM inbox WHERE state = 'done' AND done_at > ? AND refused = 'history' ORDER BY id DESC LIMIT ${MOST}`;
const TOLD = `
  SELECT json_extract(message, '$.from') AS origin, max(id) AS last FROM inbox
  WHERE id > ? AND state = 'done' AND turn_id IS NOT NULL GROUP BY origin`;

/**
 * Messages since an epoch millisecond that were kept as context and that no later turn of their chat has used; oldest first.
 */
export function readHeard(
  commits: Commits,
  since: number,
  placeOf: (from: Peer) => Peer,
): Promise<readonly InboxRow[]> {
  return commits.read((sql) => {
    const rows = sql
      .all(HEARD, since)
      .map(toInboxRow)
      .filter(({ message }) => !message.unreadable)
      .toReversed();
    const [first] = rows;
    if (!first) return [];
    const used = new Map<string, number>();
    for (const row of sql.all(TOLD, first.id)) {
      const from = readPeer(anyJson(row, "origin"));
      if (!from) continue;
      const place = nameOf(placeOf(from));
      used.set(place, Math.max(used.get(place) ?? 0, count(row, "last")));
    }
    return rows.filter(({ id, message }) => id > (used.get(nameOf(placeOf(message.from))) ?? 0));
  });
}

const nameOf = ({ channel, account, chat, thread }: Peer): string =>
  JSON.stringify([channel, account, chat.id, thread ?? ""]);
