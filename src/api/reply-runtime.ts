/** `openclaw/plugin-sdk/reply-runtime`: messages and answers. */
import { commandTable } from "../dispatch/commands/table.ts";
import type { MsgContext } from "../types/plugin/channel-plugin.ts";

export type { MsgContext, ReplyPayload } from "../types/plugin/channel-plugin.ts";
export {
  normalizeLowercaseStringOrEmpty,
  normalizeOptionalLowercaseString,
  normalizeOptionalString,
  parseInlineDirectives,
} from "./parts/text-runtime.ts";
export type { InlineDirectiveOptions, InlineDirectives } from "./parts/text-runtime.ts";

/** A message after `finalizeInboundContext`. */
export type FinalizedMsgContext = MsgContext & { CommandAuthorized: boolean };

const own = commandTable({ commands: [], revision: 0 });

/** Whether the gateway ends the chat's run because of this text: `/stop` and its other names. */
export function isAbortRequestText(text = ""): boolean {
  const name = /^\/([a-z]+)(?:@\S+)?[\s.!?]*$/i.exec(text.trim())?.[1];
  return name !== undefined && own.find(name.toLowerCase())?.name === "stop";
}

/** Whether a text asks for an answer beside the conversation. This gateway has no such command. */
export const isBtwRequestText = (_text?: string): boolean => false;
