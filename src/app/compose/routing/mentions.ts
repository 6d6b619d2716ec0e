import { isAddressed } from "../../../channels/access/gating.ts";
import { type MentionPattern, mentionPatterns } from "../../../channels/access/mention-pattern.ts";
import { bindingFor, type Binding, type Routed } from "../../../channels/routing/bindings.ts";
import type { InboundMessage } from "../../../types/chat/message.ts";
import { topicAgent } from "../../../channels/chat-prompt.ts";
import { accountOf, defaultAccountOf } from "../../accounts/accounts.ts";
import type { Config } from "../../config/schema/schema.ts";
import type { Live } from "../../live.ts";

/** Whether a message addresses the bot, by the platform or by a name of the agent that answers. */
export const isAddressedTo = (message: InboundMessage, live: Live): boolean =>
  isAddressed(message, patternsFor(message, live));

/** The names by which the agent that answers is addressed; none in a chat where the account's config says so. */
export const patternsFor = (message: Routed, live: Live): readonly MentionPattern[] =>
  countsIn(message, live.config)
    ? (mentionPatternsFor(message, live) ?? mentionPatterns(live.config.messages.groupChat.mentionPatterns))
    : [];

function countsIn({ from }: Routed, config: Config): boolean {
  const { mode, allowIn, denyIn } = accountOf(config, from).mentionPatterns;
  const { chat, thread } = from;
  const names = [
    chat.id,
    ...(thread === undefined ? [] : [`${chat.id}:topic:${thread}`, `${chat.id}:thread:${thread}`]),
  ];
  const isIn = (ids: readonly string[]): boolean => ids.some((id) => names.includes(id));
  return !isIn(denyIn) && (mode === "allow" || isIn(allowIn));
}

/** The mention patterns of the agent that answers; undefined if it has none of its own. */
export function mentionPatternsFor(
  message: Routed,
  { config, defaultAgent }: Live,
): readonly MentionPattern[] | undefined {
  const id = configuredAgent(message, config) ?? defaultAgent.id;
  const patterns = config.agents.list.find((agent) => agent.id === id)?.groupChat.mentionPatterns;
  return patterns && mentionPatterns(patterns);
}

/** The agent that the config names for a message: that of its topic, else of its binding. */
export const configuredAgent = (message: Routed, config: Config): string | undefined =>
  (message.from.thread === undefined ? undefined : topicAgent(accountOf(config, message.from), message)) ??
  routeOf(message, config)?.agentId;

/** The binding that applies to a message; undefined when none matches. */
export function routeOf(message: Routed, config: Config): Binding | undefined {
  if (config.bindings.length === 0) return undefined;
  return bindingFor(config.bindings, message, defaultAccountOf(config, message.from.channel));
}
