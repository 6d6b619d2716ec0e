import { fileOf } from "../../../sessions/rows/row.ts";
import { systemClock } from "../../../types/clock.ts";
import { within } from "../../../utils/within.ts";
import type { Parts } from "../parts.ts";

/** The field's limit for all of these hooks together, in milliseconds. */
const DRAIN_MS = 2000;
/** Conversations that are reported at most, the newest ones. */
const MOST = 1000;

/** Calls `session_end` with the reason `shutdown` for the conversations that were used since the start. */
export async function endSessions({ core, startedAt, live }: Parts): Promise<void> {
  const { hooks } = core.ports;
  if (hooks?.has("session_end") !== true) return;
  const calls: Promise<unknown>[] = [];
  for (const { key, entry } of core.sessions.newest()) {
    if (entry.updatedAt < startedAt || calls.length === MOST) break;
    const agentId = core.ports.settings().agentOf(key);
    const agent = live.agents.find(({ id }) => id === agentId) ?? live.defaultAgent;
    const { sessionId } = entry;
    const event = {
      sessionId,
      sessionKey: key,
      reason: "shutdown" as const,
      messageCount: 0,
      sessionFile: fileOf(entry, live.paths.sessionsDir),
      transcriptArchived: false,
    };
    const context = { agentId, sessionKey: key, sessionId, workspaceDir: agent.workspace };
    calls.push(hooks.ask({ name: "session_end", event, context }, () => undefined));
  }
  await within(Promise.all(calls), DRAIN_MS, systemClock);
}
