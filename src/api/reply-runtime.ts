/** `openclaw/plugin-sdk/reply-runtime`: types of messages and answers. */
import type { MsgContext } from "../types/plugin/channel-plugin.ts";

export type { MsgContext, ReplyPayload } from "../types/plugin/channel-plugin.ts";

/** A message after `finalizeInboundContext`. */
export type FinalizedMsgContext = MsgContext & { CommandAuthorized: boolean };
