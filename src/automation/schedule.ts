import { createHash } from "node:crypto";
import type { HeartbeatSettings } from "../types/settings.ts";

/** Shift of an agent's time slots in milliseconds, by the agent's name, so that not all agents run at once. */
function offsetOf(agent: string, everyMs: number): number {
  return createHash("sha256").update(agent).digest().readUInt32BE(0) % everyMs;
}

/**
 * Epoch milliseconds at which the time slot of `now` began. They are the same after every start, so that a restart
 * neither moves a heartbeat nor repeats one.
 */
export function slotAt(agent: string, everyMs: number, now: number): number {
  const offset = offsetOf(agent, everyMs);
  return Math.floor((now - offset) / everyMs) * everyMs + offset;
}

/** Whether `now` is in the active hours; always when there are none. */
export function isActive(hours: HeartbeatSettings["activeHours"], now: number): boolean {
  if (!hours) return true;
  const { from, to, timezone } = hours;
  const minute = minuteOfDay(now, timezone);
  return from <= to ? minute >= from && minute < to : minute >= from || minute < to;
}

function minuteOfDay(now: number, timeZone: string): number {
  const text = new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const [hours = 0, minutes = 0] = text.format(now).split(":").map(Number);
  return hours * 60 + minutes;
}

const LONGEST_PAUSE_MS = 24 * 60 * 60 * 1000;
/** Failures that do not go away by themselves: a retry would only cost another refused call. */
const LASTING = /^(?:auth|billing|model_missing):/;

/**
 * Epoch milliseconds of the end of the pause after failed heartbeats: the pause is one slot after the first failure,
 * then 3, 7 …, at most a day. Half a slot is subtracted, since no heartbeat begins exactly on time.
 */
export function pausedUntil(
  last: { readonly at: number; readonly failures: number; readonly why: string },
  everyMs: number,
) {
  const ms = LASTING.test(last.why) ? LONGEST_PAUSE_MS : everyMs * (2 ** Math.min(last.failures, 16) - 0.5);
  return last.at + Math.min(ms, LONGEST_PAUSE_MS);
}
