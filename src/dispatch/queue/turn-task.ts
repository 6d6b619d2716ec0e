import type { SessionKey } from "../../types/ids.ts";
import type { QueueSettings } from "../../types/queue.ts";
import { saidIn } from "../directives/said.ts";
import type { DispatchPorts, QueuedTurn } from "../ports.ts";
import type { LaneTask, TurnTask } from "./lane-task.ts";
import { QUEUE_MODE_RULES, type QueueAction } from "./queue-modes.ts";
import { queueSettings } from "./queue-settings.ts";

export interface TaskPorts extends Pick<DispatchPorts, "kinds" | "settings"> {
  readonly sessions: Pick<DispatchPorts["sessions"], "peek">;
}

/** How a message waits. A resumed turn, and a turn of a kind that is queued alone, waits in every mode. */
export function queueOf(key: SessionKey, { rows: [row], isReplay }: QueuedTurn, ports: TaskPorts): QueueSettings {
  const { kinds, sessions } = ports;
  const settings = ports.settings();
  if (!row) return { ...settings.queue, mode: "followup" };
  const inline = saidIn(row.message, key, ports).values.queue;
  const queue = queueSettings(row.message.from, sessions.peek(key), settings, inline);
  const how = kinds.of(row.message).queue;
  const waits = isReplay === true || how === "alone" || (how === "joins" && queue.mode === "interrupt");
  return waits ? { ...queue, mode: "followup" } : queue;
}

/** The task of a message that found its lane so that this is to be done with it. */
export function taskOf(
  queued: QueuedTurn,
  { queue: { mode, debounceMs }, action }: { readonly queue: QueueSettings; readonly action: QueueAction },
  { kinds }: Pick<TaskPorts, "kinds">,
): TurnTask {
  const merges = action === "start" || QUEUE_MODE_RULES[mode].merges;
  const kind = queued.rows[0] && kinds.of(queued.rows[0].message);
  return {
    kind: "turn",
    queued: action === "start" && isOneNew(queued) ? { ...queued, wasIdle: true } : queued,
    merge: merges && queued.log === undefined && queued.isReplay !== true,
    steers: action === "steer",
    debounceMs,
    ...(kind && kind.overCap !== "by_config" && { overCap: kind.overCap }),
  };
}

/** Of a turn that an earlier process began it is not known whether its messages waited. */
const isOneNew = ({ rows, isReplay }: QueuedTurn): boolean => rows.length === 1 && isReplay !== true;

/** Milliseconds in which messages of an idle chat become one turn. */
export function inboundDebounceOf(
  { rows: [row], isReplay }: QueuedTurn,
  { settings }: Pick<TaskPorts, "settings">,
): number {
  if (!row || isReplay === true || row.message.options?.operator === true) return 0;
  return settings().inboundDebounceMs(row.message.from);
}

/** The task for a retry. As after a restart, its turn may be half done; its log has ended with a failure. */
export function asRetry(task: LaneTask): LaneTask {
  if (task.kind === "work") return task;
  const { log: _ended, rows, ...queued } = task.queued;
  const tried = rows.map((row) => ({ ...row, attempts: Math.max(1, row.attempts) }));
  return { ...task, queued: { ...queued, rows: tried, isReplay: true } };
}
