import type { SessionKey } from "../../types/ids.ts";
import type { QueueSettings } from "../../types/queue.ts";
import { saidIn } from "../directives/said.ts";
import type { Sessions } from "../../types/session.ts";
import type { DispatchPorts } from "../ports.ts";
import type { QueuedTurn } from "../queue/lane-task.ts";
import { queueSettings } from "../queue/queue-settings.ts";
import type { Waiting } from "../queue/task-runner.ts";

interface WaitingPorts extends Pick<DispatchPorts, "kinds" | "settings"> {
  readonly storage: { readonly sessions: Pick<Sessions, "peek"> };
}

/** How messages wait in the lane of their session. */
export function waitingOf(key: SessionKey, queued: QueuedTurn, ports: WaitingPorts): Waiting {
  const [row] = queued.rows;
  const overCap = row && ports.kinds.of(row.message).overCap;
  return {
    queue: queueOf(key, queued, ports),
    overCap: overCap === "by_config" ? undefined : overCap,
    gatherMs: gatherMsOf(queued, ports),
  };
}

/**
 * The settings by which a turn waits. A resumed turn, and a turn of a kind that is queued alone, waits in every mode.
 */
function queueOf(key: SessionKey, { rows: [row], isReplay }: QueuedTurn, ports: WaitingPorts): QueueSettings {
  const {
    kinds,
    storage: { sessions },
  } = ports;
  const settings = ports.settings();
  if (!row) return { ...settings.queue, mode: "followup" };
  const inline = saidIn(row.message, key, ports).values.queue;
  const queue = queueSettings(row.message.from, sessions.peek(key), settings, inline);
  const how = kinds.of(row.message).queue;
  const waits = isReplay === true || how === "alone" || (how === "joins" && queue.mode === "interrupt");
  return waits ? { ...queue, mode: "followup" } : queue;
}

function gatherMsOf({ rows: [row], isReplay }: QueuedTurn, { settings }: Pick<WaitingPorts, "settings">): number {
  if (!row || isReplay === true || row.message.options?.operator === true) return 0;
  return settings().inboundDebounceMs(row.message.from);
}
