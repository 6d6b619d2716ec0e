import { z } from "zod";
import type { AccountConfig } from "../channels/config.ts";
import type { InboundMessage } from "../types/message.ts";
import type { Config } from "./config/schema.ts";

/** WhatsApp's way to write it. */
const ackConfig = z.object({
  emoji: z.string().default(""),
  direct: z.boolean().default(true),
  group: z.enum(["always", "mentions", "never"]).default("mentions"),
});

/** The reaction that tells a sender that the message was accepted; undefined when it gets none. */
export function ackReactionOf(
  message: InboundMessage,
  { messages }: Config,
  account: AccountConfig,
): { readonly emoji: string; readonly removeAfter: boolean } | undefined {
  const { emoji, isMeant } = choiceOf(message, messages, account);
  if (emoji === "" || !isMeant || message.event === "reaction") return undefined;
  return { emoji, removeAfter: messages.removeAckAfterReply };
}

function choiceOf(message: InboundMessage, messages: Config["messages"], account: AccountConfig) {
  const isDirect = message.from.chat.kind === "direct";
  const isNamed = message.mentionsBot || message.replyTo?.fromBot === true;
  const { success, data } = ackConfig.safeParse(account.ackReaction);
  if (success) {
    const inGroup = { always: true, mentions: isNamed, never: false }[data.group];
    return { emoji: data.emoji, isMeant: isDirect ? data.direct : inGroup };
  }
  const isMeant = {
    all: true,
    direct: isDirect,
    "group-all": !isDirect,
    "group-mentions": !isDirect && isNamed,
    off: false,
    none: false,
  }[account.ackReactionScope ?? messages.ackReactionScope];
  return { emoji: typeof account.ackReaction === "string" ? account.ackReaction : messages.ackReaction, isMeant };
}
