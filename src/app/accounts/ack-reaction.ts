import { z } from "zod";
import type { AccountConfig } from "../../channels/config.ts";
import { isAddressed } from "../../channels/access/gating.ts";
import type { MentionPattern } from "../../channels/access/mention-pattern.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import { once } from "../../utils/share-calls.ts";
import type { Config } from "../config/schema.ts";

/** The keys as WhatsApp's section has them. */
const ackConfig = z.object({
  emoji: z.string().default(""),
  direct: z.boolean().default(true),
  group: z.enum(["always", "mentions", "never"]).default("mentions"),
});

interface AckRules {
  readonly messages: Config["messages"];
  readonly account: AccountConfig;
  /** Patterns that count as a mention. */
  patterns(): readonly MentionPattern[];
}

/** The reaction that shows a sender that the message was accepted; undefined when none is sent. */
export function ackReactionOf(
  message: InboundMessage,
  rules: AckRules,
): { readonly emoji: string; readonly removeAfter: boolean } | undefined {
  const { messages } = rules;
  const { emoji, isMeant } = choiceOf(message, rules);
  if (emoji === "" || message.event === "reaction" || !isMeant()) return undefined;
  return { emoji, removeAfter: messages.removeAckAfterReply };
}

type AckConfig = z.output<typeof ackConfig>;

/** Reads `ackReaction` in the form of an object, once for each object. Undefined when it has another shape. */
const sectionOf = once((section: object): AckConfig | undefined => ackConfig.safeParse(section).data);

function choiceOf(message: InboundMessage, { messages, account, patterns }: AckRules) {
  const isDirect = message.from.chat.kind === "direct";
  const isNamed = () => isAddressed(message, patterns());
  const { ackReaction: set } = account;
  const data = typeof set === "object" && set !== null ? sectionOf(set) : undefined;
  if (data) {
    const inGroup = { always: () => true, mentions: isNamed, never: () => false }[data.group];
    return { emoji: data.emoji, isMeant: isDirect ? () => data.direct : inGroup };
  }
  const isMeant = {
    all: () => true,
    direct: () => isDirect,
    "group-all": () => !isDirect,
    "group-mentions": () => !isDirect && isNamed(),
    off: () => false,
    none: () => false,
  }[account.ackReactionScope ?? messages.ackReactionScope];
  return { emoji: typeof set === "string" ? set : messages.ackReaction, isMeant };
}
