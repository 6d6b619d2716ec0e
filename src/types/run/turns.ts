import type { ChatMessage } from "./model.ts";

/** Value of `sourceTool` in the provenance of a turn that asks for the rest of an answer that broke off. */
export const CONTINUE = "continue";

/** Whether the harness wrote the message to get the rest of an answer. */
export const asksForRest = (message: ChatMessage | undefined): boolean =>
  message?.role === "user" && message.provenance?.sourceTool === CONTINUE;

/** Whether a turn begins with it. Steered messages and the harness's own messages belong to the turn under way. */
export const beginsTurn = (message: ChatMessage): boolean =>
  message.role === "user" && message.steered !== true && !asksForRest(message);
