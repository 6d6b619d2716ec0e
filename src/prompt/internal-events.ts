import type { AgentInternalEvent } from "../types/engine/internal-event.ts";
import type { InputProvenance, UserMessage } from "../types/run/model.ts";

/** Whether a prompt is left out of the transcript: a subagent's announcement, which its own session already has. */
export function shouldSuppressAgentPromptPersistence(turn: {
  readonly inputProvenance?: InputProvenance | undefined;
  readonly internalEvents?: readonly AgentInternalEvent[] | undefined;
}): boolean {
  const { inputProvenance, internalEvents = [] } = turn;
  if (inputProvenance?.kind !== "inter_session" || inputProvenance.sourceTool !== "subagent_announce") return false;
  return internalEvents.some((event) => event.type === "task_completion" && event.source === "subagent");
}

/** Whether the message is such a prompt. */
export const isVolatile = ({ provenance, internalEvents }: UserMessage): boolean =>
  shouldSuppressAgentPromptPersistence({ inputProvenance: provenance, internalEvents });
