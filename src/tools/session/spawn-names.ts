import { createHash } from "node:crypto";
import { channelId, type RunId, runId } from "../../types/ids.ts";

/** The channel of subagents. No adapter has this name. */
export const SUBAGENT = channelId("subagent");

/** A call of `sessions_spawn`. A model may give two calls of a run the same id, so the task identifies the call too. */
export interface SpawnCall {
  readonly runId: RunId;
  readonly callId: string;
  readonly task: string;
}

const digestOf = (...parts: readonly string[]): string => createHash("sha256").update(parts.join("\n")).digest("hex");

/** The idempotency key of a call's request: after a restart the same call finds its subagent. */
export const spawnKeyOf = ({ runId: asker, callId, task }: SpawnCall): string => digestOf(asker, callId, task);

/**
 * Id of the run of a request. A repeated request has the same id and finds the run in the journal, also after a
 * restart.
 */
export const subagentRunId = (idempotencyKey: string, plugin = ""): RunId =>
  runId(`subagent-${digestOf(plugin, idempotencyKey).slice(0, 32)}`);

/** The last part of a subagent's session key, in the form of a UUID. */
export function subagentIdOf(idempotencyKey: string): string {
  const digest = digestOf("session", idempotencyKey);
  const [a, b, c, d, e] = [
    digest.slice(0, 8),
    digest.slice(8, 12),
    digest.slice(13, 16),
    digest.slice(17, 20),
    digest.slice(20, 32),
  ];
  return `${a}-${b}-4${c}-8${d}-${e}`;
}
