import { SILENT_TOKEN } from "../chat/reply.ts";
import type { ChatMessage } from "./model.ts";

/** Value of `sourceTool` in the provenance of a turn that asks for the rest of an answer that broke off. */
export const CONTINUE = "continue";

/** Whether the harness wrote the message to get the rest of an answer. */
export const asksForRest = (message: ChatMessage | undefined): boolean =>
  message?.role === "user" && message.provenance?.sourceTool === CONTINUE;

/**
 * Whether a turn begins with the message: not with a steered message, a text that the gateway added, or a message of
 * the harness.
 */
export const beginsTurn = (message: ChatMessage): boolean =>
  message.role === "user" && message.steered !== true && message.customType === undefined && !asksForRest(message);

const SILENT_REST = new RegExp(`^[\\s*_\`"']{0,8}${SILENT_TOKEN}[\\s*_\`"'.!]{0,8}$`, "i");
/** UTF-16 units of the longest rest that may be nothing but the silent token. */
export const MOST_SILENT_REST = 24;

/**
 * The text of an answer that broke off, with its rest. A model that has nothing to add answers with the silent token, which is no part of
 * the text.
 */
export const withRest = (begun: string, rest: string): string =>
  begun !== "" && SILENT_REST.test(rest) ? begun : begun + rest;
