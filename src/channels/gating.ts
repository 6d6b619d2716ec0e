import type { InboundMessage } from "../types/message.ts";
import type { ChannelPolicy, GroupPolicy } from "./policy.ts";

/** What is known of the sender beside the message. */
export interface SenderFacts {
  /** A pairing code of this sender was approved. */
  readonly paired: boolean;
  /** Stands in `commands.ownerAllowFrom`. */
  readonly isOwner: boolean;
  /** The text is a command of the gateway, such as `/stop`. */
  readonly isCommand?: boolean;
}

/** `pair`: a stranger gets a code. `history`: kept for the next message that the bot is asked to answer. */
export type Gate =
  | { readonly kind: "pass" }
  | { readonly kind: "pair" }
  | { readonly kind: "drop"; readonly why: string }
  | { readonly kind: "history" };

const PASS: Gate = { kind: "pass" };
const drop = (why: string): Gate => ({ kind: "drop", why });

/** Whether a message is let in. Pure; the same rules for every channel. */
export function gate(message: InboundMessage, policy: ChannelPolicy, facts: SenderFacts): Gate {
  if (message.sender.isBot) return drop("the sender is a bot");
  return message.from.chat.kind === "direct" ? gateDirect(message, policy, facts) : gateGroup(message, policy, facts);
}

function gateDirect(message: InboundMessage, policy: ChannelPolicy, facts: SenderFacts): Gate {
  if (policy.direct === "disabled") return drop("direct chats are disabled");
  if (facts.isOwner || isListed(message, policy.allowFrom)) return PASS;
  if (policy.direct !== "pairing") return drop("the sender is not in allowFrom");
  return facts.paired ? PASS : { kind: "pair" };
}

function gateGroup(message: InboundMessage, policy: ChannelPolicy, facts: SenderFacts): Gate {
  const group = policy.groups[message.from.chat.id] ?? policy.groups["*"];
  const closed = whyClosed(policy, group);
  if (closed !== undefined) return drop(closed);
  const senders = sendersOf(policy, group);
  if (!facts.isOwner && senders && !isListed(message, senders)) return drop("the sender is not heard in this group");
  const mustBeNamed = group?.requireMention ?? policy.requireMention;
  if (!mustBeNamed || isAddressed(message, policy)) return PASS;
  // An owner's /stop must work without spelling the bot's name.
  return facts.isOwner && facts.isCommand ? PASS : { kind: "history" };
}

const isAddressed = (message: InboundMessage, policy: ChannelPolicy): boolean =>
  message.mentionsBot || policy.mentionPatterns.some((pattern) => matches(pattern, message.text));

function whyClosed(policy: ChannelPolicy, group: GroupPolicy | undefined): string | undefined {
  if (policy.group === "disabled") return "groups are disabled";
  if (group?.enabled === false) return "the group is disabled";
  return policy.group === "allowlist" && !group ? "the group is not in groups" : undefined;
}

/** Undefined when everybody in the group is heard. */
function sendersOf(policy: ChannelPolicy, group: GroupPolicy | undefined): readonly string[] | undefined {
  if (group?.allowFrom) return group.allowFrom;
  if (policy.groupAllowFrom) return policy.groupAllowFrom;
  return policy.group === "allowlist" && policy.allowFrom.length > 0 ? policy.allowFrom : undefined;
}

function matches(pattern: RegExp, text: string): boolean {
  // A pattern with the g flag remembers where it stood.
  pattern.lastIndex = 0;
  return pattern.test(text);
}

/** Whether a list names the sender: by id, phone number, `@username`, each also as `<channel>:…`, or by `*`. */
export function isListed(message: Pick<InboundMessage, "sender" | "from">, list: readonly string[]): boolean {
  const { id, username, e164 } = message.sender;
  const names = new Set(["*", id.toLowerCase()]);
  if (username !== undefined) names.add(`@${username.toLowerCase()}`);
  if (e164 !== undefined) names.add(e164);
  const prefix = new RegExp(`^(?:${message.from.channel}|tg|user):`);
  return list.some((entry) => names.has(entry.trim().toLowerCase().replace(prefix, "")));
}
