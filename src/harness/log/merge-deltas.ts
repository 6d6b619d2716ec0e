import type { RunEvent } from "../../types/run/events.ts";

type Delta = RunEvent & { readonly type: "text_delta" | "thinking_delta" };

/**
 * Events in which successive deltas of one message are one, with the place of the last of them. A watcher that was given
 * some of them and not the others must not be given them twice: these stay apart. `seen` has the `seq` up to which each
 * watcher has come. Text and thoughts are merged each on their own, also where they alternate.
 */
export function mergeDeltas(events: readonly RunEvent[], seen: readonly number[]): RunEvent[] {
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

/** Undefined for two that must stay apart: what an earlier boot said is told apart from what is new. */
function merge(before: Delta, event: Delta): Delta | undefined {
  if (before.type === "thinking_delta" && event.type === "thinking_delta")
    return { ...event, delta: before.delta + event.delta };
  if (before.type !== "text_delta" || event.type !== "text_delta" || before.carried !== event.carried) return undefined;
  const delta = before.delta + event.delta;
  // The same string, so that it is held once.
  return { ...event, delta: delta.length === event.text.length ? event.text : delta };
}
