import type { RunEvent } from "../../types/run/events.ts";

const KEPT: ReadonlySet<RunEvent["type"]> = new Set([
  "run_start",
  "message_start",
  "text_delta",
  "answer",
  "model_change",
  "run_end",
]);

/**
 * What of an event is kept for clients that ask after the end of a run: its texts and how it ended, without thoughts, tool
 * calls and their results, which are in the transcript.
 */
export function condensed(event: RunEvent): readonly RunEvent[] {
  if (event.type !== "message_end") return KEPT.has(event.type) ? [event] : [];
  const content = event.message.content.filter(({ type }) => type === "text");
  return [{ ...event, message: { ...event.message, content } }];
}
