import type { SessionKey } from "../types/ids.ts";

export interface SystemEvent {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly text: string;
}

const MAX_EVENTS = 20;
const MAX_SESSIONS = 1000;

const NOISE = [/^read heartbeat\.md/i, /heartbeat poll/i, /reason periodic/i];

/** True for what the heartbeat says to itself; the model is not told. */
export function isHeartbeatNoise(text: string): boolean {
  const trimmed = text.trim();
  return NOISE.some((pattern) => pattern.test(trimmed));
}

/**
 * News for the next turn of a session, in memory. Holds the newest 20 a session and the 1,000 sessions that had news
 * last; the same text twice in a row is kept once.
 */
export class SystemEventQueue {
  readonly #events = new Map<SessionKey, SystemEvent[]>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Empty text is no event. */
  enqueue(key: SessionKey, text: string): void {
    const trimmed = text.trim();
    const known = this.#events.get(key) ?? [];
    if (trimmed === "" || known.at(-1)?.text === trimmed) {
      return;
    }
    // Put back at the end, so that the first key of the map is always the one without news for longest.
    this.#events.delete(key);
    this.#events.set(key, [...known, { at: this.#now(), text: trimmed }].slice(-MAX_EVENTS));
    for (const oldest of this.#events.keys()) {
      if (this.#events.size <= MAX_SESSIONS) {
        return;
      }
      this.#events.delete(oldest);
    }
  }

  /** The events of a session, oldest first; they are gone from here. */
  drain(key: SessionKey): readonly SystemEvent[] {
    const events = this.#events.get(key) ?? [];
    this.#events.delete(key);
    return events;
  }
}
