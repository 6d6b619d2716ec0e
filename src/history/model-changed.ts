import type { ModelRef } from "../types/model.ts";
import type { TranscriptEntry } from "../types/session.ts";

/** Whether another model had the conversation last; false when the entries name none. */
export function modelChanged(entries: readonly TranscriptEntry[], { provider, id }: ModelRef): boolean {
  const last = entries.findLast((entry) => namedIn(entry) !== undefined);
  const named = last && namedIn(last);
  return named !== undefined && (named.provider !== provider || named.id !== id);
}

function namedIn(entry: TranscriptEntry): ModelRef | undefined {
  if (entry.type === "model_change") return { provider: entry.provider, id: entry.modelId };
  if (entry.type !== "message" || entry.message.role !== "assistant") return undefined;
  return { provider: entry.message.provider, id: entry.message.model };
}
