import { resolveAlias } from "../sessions/keys.ts";
import { cronJob } from "../types/cron/job.ts";
import { type AgentId, type SessionKey, sessionKey } from "../types/ids.ts";
import type { NeedSource } from "../store/journal/read-only.ts";
import type { InboxRow } from "../types/journal.ts";
import { ANNOUNCE_KIND } from "./announce/announce-message.ts";

/** The sessions that the journal still needs, and for what. */
export async function sessionsInUse(
  { inbox, cron }: NeedSource,
  defaultAgent: AgentId,
): Promise<ReadonlyMap<SessionKey, string>> {
  const found = new Map<SessionKey, string>();
  for (const { job } of await cron.all())
    for (const key of sessionsOfJob(job, defaultAgent)) found.set(key, "a scheduled job uses it");
  for (const key of sessionsOfMessages(await inbox.open())) found.set(key, "a message of it has no outcome yet");
  return found;
}

/** The sessions with messages that have not ended, the parents that wait for one, and subagents whose end is not announced yet. */
export const sessionsOfMessages = (rows: readonly InboxRow[]): ReadonlySet<SessionKey> =>
  new Set(
    rows
      .flatMap(({ message: { options = {} } }) => [
        options.sessionKey,
        options.subagent?.parent,
        options.kind === ANNOUNCE_KIND ? options.announce?.child : undefined,
      ])
      .filter((key) => key !== undefined)
      .map((key) => sessionKey(key)),
  );

/** The session in which a job runs, and the one in which it was made, where it reports. */
function sessionsOfJob(stored: unknown, defaultAgent: AgentId): readonly SessionKey[] {
  const { data } = cronJob.safeParse(stored);
  if (!data) return [];
  const { sessionKey: made, sessionTarget: target, owner } = data;
  const named = [made, owner?.sessionKey, target.startsWith(TARGET) ? target.slice(TARGET.length) : undefined];
  return named.filter((key) => key !== undefined).map((key) => resolveAlias(key, defaultAgent));
}

const TARGET = "session:";
