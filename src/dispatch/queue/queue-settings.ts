import type { Peer } from "../../types/chat/message.ts";
import { MOST_CAP, MOST_DEBOUNCE_MS, queueDropOf, queueModeOf, type QueueSettings } from "../../types/queue.ts";
import type { SessionEntry } from "../../types/session.ts";
import type { QueueRules } from "../settings.ts";
import { own } from "../../utils/own.ts";

/** The settings of a queue that a session's row or a message has; the others are as configured. */
export type QueueWish = Partial<QueueSettings>;

/**
 * How a message waits: by its own directive, else by its session's row, else by its channel, else by the config for
 * all. Values of a row that mean nothing here, such as values of another program, are left out. Pure.
 */
export function queueSettings(
  from: Peer,
  entry: Readonly<SessionEntry> | undefined,
  { queue, queueMode }: QueueRules,
  inline: QueueWish = {},
): QueueSettings {
  const { cap, drop, debounceMs, debounceMsByChannel = {} } = queue;
  const configured = {
    mode: queueMode(from),
    debounceMs: own(debounceMsByChannel, from.channel) ?? debounceMs,
    cap,
    drop,
  };
  return { ...configured, ...queueWishOf(entry), ...inline };
}

/** The settings of a queue that a session's row has. */
export function queueWishOf(entry: Readonly<Partial<SessionEntry>> = {}): QueueWish {
  const mode = queueModeOf(entry.queueMode);
  const drop = queueDropOf(entry.queueDrop);
  const { queueDebounceMs: debounceMs, queueCap: cap } = entry;
  return {
    ...(mode && { mode }),
    ...(drop && { drop }),
    ...(isWithin(debounceMs, 0, MOST_DEBOUNCE_MS) && { debounceMs }),
    ...(isWithin(cap, 1, MOST_CAP) && { cap: Math.floor(cap) }),
  };
}

const isWithin = (value: unknown, least: number, most: number): value is number =>
  typeof value === "number" && value >= least && value <= most;
