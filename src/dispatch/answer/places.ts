import type { Directives } from "../../reply/directives.ts";
import type { AnswerTarget } from "./answer-target.ts";

/**
 * The id of the preview's message from before a restart, also when its channel was not yet connected as the answer
 * began.
 */
export function earlierPreview({ earlier: { previewId } }: Pick<AnswerTarget, "earlier">): string | undefined {
  return previewId === "" ? undefined : previewId;
}

/**
 * The id of the message that a reply answers visibly: the message that the model names, else the message of the turn
 * where the settings say so.
 */
export function replyTo(
  { style, message }: Pick<AnswerTarget, "style" | "message">,
  { replyTo: named }: Pick<Directives, "replyTo">,
): string | undefined {
  if (named?.kind === "id") return named.id;
  const isWanted = named?.kind === "current" || style.replyToMode !== "off";
  return isWanted && message.id !== "" ? message.id : undefined;
}
