import type { Server } from "../../../server/options.ts";
import type { Parts } from "../parts.ts";
import { endSessions } from "./end-sessions.ts";

const SEND_GRACE_MS = 5000;
const ACK_GRACE_MS = 2000;
const CLOSE_MS = 1000;

/** `server` is unset when the start failed before it listened. Runs every step, also after a failed one, so that the journal is always written. */
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
