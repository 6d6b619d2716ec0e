import type { AssistantMessage } from "../../types/model.ts";
import { emptyUsage } from "../../types/usage.ts";
import type { PiModel } from "../pi.ts";

/** An answer that says nothing yet. */
export function emptyMessage(model: PiModel): AssistantMessage {
  return {
    role: "assistant",
    content: [],
    api: model.api,
    provider: model.provider,
    model: model.id,
    usage: emptyUsage(),
    stopReason: "stop",
    timestamp: Date.now(),
  };
}
