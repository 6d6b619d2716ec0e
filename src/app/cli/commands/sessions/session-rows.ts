import { shownTitle } from "../../../../sessions/shown/title.ts";
import type { ListedSession } from "../../../../types/session.ts";
import type { Io } from "../../io.ts";
import { table } from "../../table.ts";
import { showDuration } from "../../../../utils/time/duration.ts";

/** Conversations for a person. */
export function sessionRows(io: Io, sessions: readonly ListedSession[]): string {
  if (sessions.length === 0) return "No session yet.\n";
  const now = Date.now();
  const rows = sessions.map((one) => [
    one.key,
    shownTitle(one) ?? "",
    one.hasActiveRun === true ? "now" : `${showDuration(now - one.updatedAt)} ago`,
    one.totalTokens ? String(one.totalTokens) : "",
    one.model ?? "",
  ]);
  return table(io, ["KEY", "NAME", "LAST", "TOKENS", "MODEL"], rows);
}
