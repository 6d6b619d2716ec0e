import { textOfAnswer } from "../../history/parts.ts";
import type { AssistantMessage, UserMessage } from "../../types/run/model.ts";
import type { FailureKind } from "../../types/run/run.ts";
import { CONTINUE } from "../../types/run/turns.ts";

/** Failures caused by the text itself or by the order of turns: a continuation would only repeat them. */
const ABOUT_THE_TEXT: ReadonlySet<FailureKind> = new Set(["refusal", "role_ordering", "call_ordering"]);

/** The most UTF-16 units of a text that is continued: a model that has written more would go on without end. */
const MOST_CONTINUED = 512 * 1024;

/** Whether an answer that broke off is continued rather than repeated: its text may be in the chat already. */
export const isContinued = (kind: FailureKind, message: AssistantMessage): boolean =>
  !ABOUT_THE_TEXT.has(kind) && isContinuable(textOfAnswer(message));

const isContinuable = (text: string): boolean => text.length <= MOST_CONTINUED && text.trim() !== "";

/**
 * The message that asks for the rest of an answer. The transcript keeps the message, so that the next request begins
 * with the same bytes.
 */
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
