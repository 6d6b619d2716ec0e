import type { InboundMessage } from "../../types/chat/message.ts";
import { isListed } from "./listed.ts";
import type { MentionPattern } from "./mention-pattern.ts";
import type { ChannelPolicy, GroupPolicy } from "./policy.ts";

/** Facts about the sender in addition to the message. */
export interface SenderFacts {
  /** A pairing code of this sender was approved. */
  readonly paired: boolean;
  /** `commands.ownerAllowFrom` names the sender. */
  readonly isOwner: boolean;
  /** The text is a command of the gateway, such as `/stop`. */
  readonly isCommand?: boolean;
  /** Choice that somebody made in the group with `/activation`; replaces `requireMention`. */
  readonly activation?: "mention" | "always" | undefined;
  /** The answering agent's own patterns, where it has any; they replace the policy's. */
  readonly mentionPatterns?: readonly MentionPattern[] | undefined;
}

/**
 * `pair`: a stranger gets a code. `history`: the message is kept as context for the next message that the bot answers.
 * `event`: the agent learns of the event with its next turn.
 */
export type Gate =
  | { readonly kind: "pass" }
  | { readonly kind: "pair" }
  | { readonly kind: "drop"; readonly why: string }
  | { readonly kind: "history" }
  | { readonly kind: "event" };

const PASS: Gate = { kind: "pass" };
const drop = (why: string): Gate => ({ kind: "drop", why });

/**
 * Decides whether a message is let in, by the same rules for every channel. Pure, except that a slow pattern is
 * switched off for a while.
 */
export function gate(message: InboundMessage, policy: ChannelPolicy, facts: SenderFacts): Gate {
  const ignored = whyIgnored(message, policy);
  if (ignored !== undefined) return drop(ignored);
  const verdict =
    message.from.chat.kind === "direct" ? gateDirect(message, policy, facts) : gateGroup(message, policy, facts);
  if (message.event !== "reaction" && message.event !== "news") return verdict;
  // Nobody expects an answer to a reaction or to news, and the agent learns only those of people who may write.
  if (verdict.kind === "pair") return drop("something that a stranger did");
  return verdict.kind === "drop" ? verdict : { kind: "event" };
}

function whyIgnored(message: InboundMessage, policy: ChannelPolicy): string | undefined {
  const { isBot } = message.sender;
  if (isBot && policy.bots === false) return "the sender is a bot";
  if (isBot && policy.bots === "mentions" && !isNamed(message)) return "a bot that does not name this one";
  return message.event === "reaction" ? whyReactionIgnored(message, policy) : undefined;
}

function whyReactionIgnored(message: InboundMessage, { reactions, reactionsOf }: ChannelPolicy): string | undefined {
  if (reactions === "off") return "reactions are off";
  if (reactions === "own" && message.reaction?.toBot !== true) return "a reaction to somebody else";
  if (reactions === "allowlist" && !isListed(message, reactionsOf)) return "the sender is not in reactionAllowlist";
  return undefined;
}

function gateDirect(message: InboundMessage, policy: ChannelPolicy, facts: SenderFacts): Gate {
  if (policy.direct === "disabled") return drop("direct chats are disabled");
  if (facts.isOwner || isListed(message, policy.allowFrom)) return PASS;
  if (policy.direct === "open") return drop('the sender is not in allowFrom, which lacks "*"');
  if (policy.direct !== "pairing") return drop("the sender is not in allowFrom");
  return facts.paired ? PASS : { kind: "pair" };
}

function gateGroup(message: InboundMessage, policy: ChannelPolicy, facts: SenderFacts): Gate {
  const group = groupOf(message, policy);
  const closed = whyClosed(policy, group);
  if (closed !== undefined) return drop(closed);
  if (!facts.isOwner && !isAllowed(message, policy, group)) return drop("the sender is not allowed in this group");
  const mustBeNamed = facts.activation
    ? facts.activation === "mention"
    : (group?.requireMention ?? policy.requireMention);
  if (!mustBeNamed || isAddressed(message, facts.mentionPatterns ?? policy.mentionPatterns)) return PASS;
  // An owner's /stop must work without spelling the bot's name.
  return facts.isOwner && facts.isCommand ? PASS : { kind: "history" };
}

/** The platform itself marks the bot as addressed: by a mention or a reply. */
const isNamed = (message: InboundMessage): boolean => message.mentionsBot || message.replyTo?.fromBot === true;

/** The message addresses the bot: the platform says so, or the text contains a name of the bot. */
export const isAddressed = (message: InboundMessage, patterns: readonly MentionPattern[]): boolean =>
  isNamed(message) || patterns.some((pattern) => pattern.isIn(message.text));

function groupOf({ from, guildId }: InboundMessage, { groups }: ChannelPolicy): GroupPolicy | undefined {
  const guild = guildId === undefined ? undefined : (groups[`guild:${guildId}`] ?? groups["guild:*"]);
  const group = groups[from.chat.id] ?? guild ?? groups["*"];
  const topics = from.thread === undefined ? undefined : (group?.topics ?? groups["*"]?.topics);
  const topic = topics?.[from.thread ?? "*"] ?? topics?.["*"];
  return group && topic ? { ...group, ...topic } : group;
}

/** Whether a group's messages must address the bot, by the config. Undefined where that depends on the group's guild. */
export function mustBeNamedIn(
  chatId: string,
  { groups, requireMention }: Pick<ChannelPolicy, "groups" | "requireMention">,
): boolean | undefined {
  const own = groups[chatId];
  if (!own && Object.keys(groups).some((name) => name.startsWith("guild:"))) return undefined;
  return (own ?? groups["*"])?.requireMention ?? requireMention;
}

/**
 * Why nobody's messages pass in a chat, as a clause about the config; undefined when somebody's may, or when that
 * depends on an unknown guild.
 */
export function whyNobodyHeard(chat: InboundMessage["from"]["chat"], policy: ChannelPolicy): string | undefined {
  if (chat.kind === "direct") return policy.direct === "disabled" ? "direct chats are disabled (dmPolicy)" : undefined;
  const own = policy.groups[chat.id];
  if (!own && policy.group !== "disabled" && Object.keys(policy.groups).some((name) => name.startsWith("guild:")))
    return undefined;
  const closed = whyClosed(policy, own ?? policy.groups["*"]);
  return closed === undefined ? undefined : `${closed} (groupPolicy, groups)`;
}

function whyClosed(policy: ChannelPolicy, group: GroupPolicy | undefined): string | undefined {
  if (policy.group === "disabled") return "groups are disabled";
  if (group?.enabled === false) return "the group is disabled";
  return policy.group === "allowlist" && !group ? "the group is not in groups" : undefined;
}

function isAllowed(message: InboundMessage, policy: ChannelPolicy, group: GroupPolicy | undefined): boolean {
  if (group?.roles?.some((role) => message.sender.roles?.includes(role))) return true;
  const senders = sendersOf(policy, group);
  return senders ? isListed(message, senders) : group?.roles === undefined;
}

/** The only senders that a group allows; undefined when it allows everybody. */
export function sendersOf(policy: ChannelPolicy, group: GroupPolicy | undefined): readonly string[] | undefined {
  if (group?.allowFrom) return group.allowFrom;
  if (group?.roles) return undefined;
  if (policy.groupAllowFrom) return policy.groupAllowFrom;
  if (group?.hasMembership) return undefined;
  return policy.group === "allowlist" && policy.allowFrom.length > 0 ? policy.allowFrom : undefined;
}
