import type { RunEvent } from "../../types/run/events.ts";

type Delta = RunEvent & { readonly type: "text_delta" | "thinking_delta" };

/**
 * Merges successive deltas of one message into one, with the `seq` of the last. Deltas that a watcher has seen only in part
 * stay apart, so that it gets none twice; `seen` has the `seq` up to which each watcher has read. Text and thoughts are
 * merged separately, also where they alternate.
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
