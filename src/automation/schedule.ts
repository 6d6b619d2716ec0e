import { createHash } from "node:crypto";
import type { HeartbeatSettings } from "../types/settings.ts";

/** The grid of an agent's heartbeats lies where its name puts it, so that agents do not all wake at once. */
function offsetOf(agent: string, everyMs: number): number {
  return createHash("sha256").update(agent).digest().readUInt32BE(0) % everyMs;
}

/**
 * Epoch milliseconds at which the time slot began that holds `now`. The same for every start of the gateway: a restart
 * neither moves a heartbeat nor brings one twice.
 */
export function slotAt(agent: string, everyMs: number, now: number): number {
  const offset = offsetOf(agent, everyMs);
  return Math.floor((now - offset) / everyMs) * everyMs + offset;
}

/** True in every minute when there are no hours. */
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

const LONGEST_REST_MS = 24 * 60 * 60 * 1000;
/** These do not mend themselves: an hour later they would cost one more refused call. */
const LASTING = /^(?:auth|billing|model_missing):/;

/**
 * Until when to leave an agent in peace whose last heartbeats failed: one slot after the first, then 3, 7 …, a day at
 * most. Half a slot less than that, since none begins on the dot.
 */
export function restUntil(
  last: { readonly at: number; readonly failures: number; readonly why: string },
  everyMs: number,
) {
  const rest = LASTING.test(last.why) ? LONGEST_REST_MS : everyMs * (2 ** Math.min(last.failures, 16) - 0.5);
  return last.at + Math.min(rest, LONGEST_REST_MS);
}
