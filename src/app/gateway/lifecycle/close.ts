import type { Server } from "../../../server/options.ts";
import type { Parts } from "../parts/parts.ts";
import { fileOf } from "../../../sessions/rows/row.ts";
import { systemClock } from "../../../types/clock.ts";
import { within } from "../../../utils/within.ts";

const SEND_GRACE_MS = 5000;
const ACK_GRACE_MS = 2000;
const CLOSE_MS = 1000;

/**
 * Closes the parts of a gateway in order. Every step runs, also after a failed one, so that the journal is always
 * written. `server` is unset when the start failed before the server listened. Never rejects.
 */
export async function closeGateway(
  { parts, server, stop }: { parts: Parts; server: Server | undefined; stop: AbortController },
  graceMs: number,
): Promise<void> {
  const { core, channels } = parts;
  const steps: readonly (readonly [what: string, step: () => Promise<void> | void])[] = [
    ["channels stop receiving", () => channels.stopReceiving()],
    ["heartbeats", () => parts.heartbeats.close()],
    ["scheduled jobs", () => parts.cron.close()],
    ["runs", () => core.dispatch.close(graceMs)],
    ["replies", () => core.outbox.close(SEND_GRACE_MS)],
    ["plugins' hooks of sessions", () => endSessions(parts)],
    ["plugins' stop hooks", () => parts.plugins.stopping()],
    ["ack reactions", () => core.dispatch.replies.acks.settle(ACK_GRACE_MS)],
    ["upkeep", () => stop.abort()],
    ["server", () => server?.close(CLOSE_MS, "the gateway stops")],
    ["channels", () => channels.close()],
    ["plugins", () => parts.plugins.close()],
    ["journal and sessions", () => core.close()],
    ["events", () => parts.events.close()],
  ];
  for (const [what, step] of steps) {
    try {
      await step();
    } catch (error) {
      parts.log.error("step of the shutdown failed", { what, error });
    }
  }
}

/** OpenClaw's limit for all of these hooks together, in milliseconds. */
const DRAIN_MS = 2000;
/** Most conversations that are reported, the newest ones. */
const MOST = 1000;

/** Calls `session_end` with the reason `shutdown` for the conversations that were used since the start. */
async function endSessions({ core, startedAt, live }: Parts): Promise<void> {
  const {
    runs: { hooks },
  } = core.ports;
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
