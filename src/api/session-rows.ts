/** `openclaw/plugin-sdk/session-rows`: only for the memory of this repository. */
import { join } from "node:path";
import { journalPath } from "../app/config/paths.ts";
import { readSessionTable } from "../store/journal/session-table.ts";
import type { SessionKey } from "../types/ids.ts";
import type { SessionEntry } from "../types/session.ts";

/**
 * The sessions of a state directory by their keys, as the journal has them: it knows a session as soon as the session has an entry,
 * while `sessions.json` follows later. Throws `OpenClawError` when the journal cannot be read.
 */
export async function readSessionRows(stateDir: string): Promise<ReadonlyMap<SessionKey, SessionEntry>> {
  const stored = await readSessionTable(journalPath({ stateSub: join(stateDir, "state") }));
  return new Map(stored.flatMap(({ key, row }) => (row ? [[key, row] as const] : [])));
}
