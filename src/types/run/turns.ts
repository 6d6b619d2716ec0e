import type { ChatMessage } from "./model.ts";

/** Value of `sourceTool` in the provenance of a turn that asks for the rest of an answer that broke off. */
export const CONTINUE = "continue";

/** A turn of the harness's own, behind the first part of an answer. */
export const asksForRest = (message: ChatMessage | undefined): boolean =>
  message?.role === "user" && message.provenance?.sourceTool === CONTINUE;

/** Whether a turn begins with it: what was said into one under way, and the harness's own words in it, belong to that turn. */
export const beginsTurn = (message: ChatMessage): boolean =>
  message.role === "user" && message.steered !== true && !asksForRest(message);
