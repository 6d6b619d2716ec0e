import { CONTINUE, textOf } from "../history/parts.ts";
import type { AssistantMessage, UserMessage } from "../types/model.ts";
import type { FailureKind } from "../types/run.ts";

/** Failures behind which the first part of an answer is as good as it is. */
const BROKEN_OFF: ReadonlySet<FailureKind> = new Set(["cut_off", "network", "timeout", "overloaded", "unknown"]);

/** Whether an answer that broke off is gone on with rather than said again: its words may be in the chat already. */
export const isContinued = (kind: FailureKind, message: AssistantMessage): boolean =>
  BROKEN_OFF.has(kind) && textOf(message).trim() !== "";

/** Asks for the rest. It stands in the transcript too, so that the next request begins with the same bytes. */
export const askForRest = (at: number): UserMessage => ({
  role: "user",
  content: [
    {
      type: "text",
      text: "[The connection broke off in the middle of your last message. Go on exactly where it stopped; repeat nothing and do not mention this.]",
    },
  ],
  timestamp: at,
  provenance: { kind: "internal_system", sourceTool: CONTINUE },
});
