import type { RunEvent } from "../../types/run/events.ts";
import { isDelta, type Watcher } from "./watcher.ts";

/** How far a watcher has come: the `seq` of the last event that it was given. */
export interface Cursor {
  seen: number;
}

/** Deltas that may wait until they are merged: a merge for each new one would cost more than it saves. */
const UNMERGED = 64;

/**
 * The events of a run, as far as a watcher can still need them. Successive deltas become one as soon as no watcher is
 * between them, and of a tool call's partial results only the last is kept, none once the call has ended. So what is kept
 * grows with the messages and calls of a run, and not with the pieces in which they came.
 */
export class EventList {
  #events: RunEvent[] = [];
  readonly #cursors = new Set<Cursor>();
  /** The `seq` of the partial result that is kept of each call. */
  readonly #partials = new Map<string, number>();
  /** Deltas since the last merge, and the `seq` from which on they may be merged. */
  #deltas = 0;
  #groupFrom = 1;
  /** The `seq` of the newest event that is not a delta. */
  #newestOther = 0;

  get kept(): number {
    return this.#events.length;
  }

  all(): readonly RunEvent[] {
    return this.#events;
  }

  /** A watcher that begins at `from`. To be given back with `close`. */
  open(from: number): Cursor {
    const cursor = { seen: from - 1 };
    this.#cursors.add(cursor);
    return cursor;
  }

  close(cursor: Cursor): void {
    this.#cursors.delete(cursor);
  }

  /** The next event for this watcher, which counts as given; undefined when there is none yet, or a delta that has to wait. */
  next(cursor: Cursor, watcher: Pick<Watcher, "isPaced" | "rests">): RunEvent | undefined {
    const onlyDeltas = cursor.seen >= this.#newestOther;
    if (watcher.rests && onlyDeltas) return undefined;
    if (watcher.isPaced && onlyDeltas) this.#merge();
    const event = this.#events[this.#indexAfter(cursor.seen)];
    if (event) cursor.seen = event.seq;
    return event;
  }

  push(event: RunEvent): void {
    if (event.type === "tool_update" || event.type === "tool_end") this.#dropPartial(event.callId);
    if (event.type === "tool_update") this.#partials.set(event.callId, event.seq);
    if (isDelta(event)) this.#deltas += 1;
    else {
      this.#newestOther = event.seq;
      if (event.type !== "tool_update") this.#endGroup(event.seq + 1);
    }
    this.#events.push(event);
    if (this.#deltas >= UNMERGED) this.#merge();
  }

  #dropPartial(callId: string): void {
    const seq = this.#partials.get(callId);
    if (seq === undefined) return;
    this.#partials.delete(callId);
    this.#events.splice(this.#indexAfter(seq - 1), 1);
  }

  #endGroup(nextFrom: number): void {
    this.#merge();
    this.#groupFrom = nextFrom;
  }

  #merge(): void {
    if (this.#deltas === 0) return;
    this.#deltas = 0;
    const from = this.#indexAfter(this.#groupFrom - 1);
    const group = this.#events.splice(from);
    const seen = [...this.#cursors].map((cursor) => cursor.seen);
    this.#events.push(...mergeDeltas(group, seen));
  }

  /** Of the first event with a higher `seq`. */
  #indexAfter(seq: number): number {
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#events[middle]?.seq ?? Infinity) <= seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

type Delta = RunEvent & { readonly type: "text_delta" | "thinking_delta" };

/**
 * Merges successive deltas of one message into one, with the `seq` of the last. Deltas that a watcher has seen only in part
 * stay apart, so that it gets none twice; `seen` has the `seq` up to which each watcher has read. Text and thoughts are
 * merged separately, also where they alternate.
 */
function mergeDeltas(events: readonly RunEvent[], seen: readonly number[]): RunEvent[] {
  const kept = new Map<number, RunEvent>();
  const last = new Map<RunEvent["type"], Delta>();
  const isBetween = (a: RunEvent, b: RunEvent): boolean => seen.some((seq) => a.seq <= seq && seq < b.seq);
  for (const event of events) {
    if (event.type !== "text_delta" && event.type !== "thinking_delta") {
      kept.set(event.seq, event);
      continue;
    }
    const before = last.get(event.type);
    const merged = before && !isBetween(before, event) ? merge(before, event) : undefined;
    if (before && merged) kept.delete(before.seq);
    kept.set(event.seq, merged ?? event);
    last.set(event.type, merged ?? event);
  }
  return [...kept.values()];
}

/** Undefined for two that must stay apart: text of an earlier process is not merged with new text. */
function merge(before: Delta, event: Delta): Delta | undefined {
  if (before.type === "thinking_delta" && event.type === "thinking_delta")
    return { ...event, delta: before.delta + event.delta };
  if (before.type !== "text_delta" || event.type !== "text_delta" || before.carried !== event.carried) return undefined;
  if (event.anew) return event;
  const delta = before.delta + event.delta;
  const anew = before.anew && { anew: true as const };
  // The same string, so that it is held once.
  return { ...event, ...anew, delta: delta.length === event.text.length ? event.text : delta };
}
