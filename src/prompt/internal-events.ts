import type { UserMessage } from "../types/run/model.ts";

/** Whether a prompt is left out of the transcript: a subagent's announcement, which its own session already has. */
export function isVolatile({
  provenance,
  internalEvents = [],
}: Pick<UserMessage, "provenance" | "internalEvents">): boolean {
  if (provenance?.kind !== "inter_session" || provenance.sourceTool !== "subagent_announce") return false;
  return internalEvents.some((event) => event.type === "task_completion" && event.source === "subagent");
}
