import { z } from "zod";
import { chatPrompt, chatSkills } from "../../channels/chat-prompt.ts";
import { chatToolRules } from "../../channels/chat-tools.ts";
import type { AccountConfig } from "../../channels/config.ts";
import type { ChatStyle, DispatchSettings, Broadcast } from "../../dispatch/settings.ts";
import { mayAnswer } from "../../sessions/rows/send-policy.ts";
import { resetRuleFor, whyOver } from "../../sessions/rows/expiry.ts";
import { agentOf, keyForPeer } from "../../sessions/keys.ts";
import type { InboundMessage, Peer } from "../../types/chat/message.ts";
import { accountKey, accountOf, placeOf } from "../accounts/accounts.ts";
import { hasApproverIn, mayApprove } from "../accounts/approvers.ts";
import type { Config } from "../config/schema/schema.ts";
import { queueModeOf } from "../../types/queue.ts";
import { approvalRoute } from "./approvals/route.ts";
import type { Live } from "../live.ts";
import { own } from "../../utils/own.ts";
import { isAddressedTo, patternsFor, configuredAgent, routeOf } from "./routing/mentions.ts";
import { mayElevate } from "./sandbox/elevated.ts";
import { isAddressed } from "../../channels/access/gating.ts";
import type { MentionPattern } from "../../channels/access/mention-pattern.ts";
import { once } from "../../utils/share-calls.ts";
import { broadcastTo } from "../../channels/routing/broadcast.ts";
import { agentId, type AgentId, type SessionKey } from "../../types/ids.ts";

/** The dispatch rules of the current config; made once per config. */
export function createRules(live: Live): () => DispatchSettings {
  let made: { config: Config; settings: DispatchSettings } | undefined;
  return () => {
    if (made?.config !== live.config) made = { config: live.config, settings: rulesOf(live) };
    return made.settings;
  };
}

function rulesOf(live: Live): DispatchSettings {
  const { config, agents, defaultAgent } = live;
  const { queue } = config.messages;
  const owners = new Set(config.commands.ownerAllowFrom.map(String));
  return {
    agents: new Map(agents.map((agent) => [agent.id, agent])),
    defaultAgent: defaultAgent.id,
    queue,
    queueMode: (to) => queueModeOf(own(queue.byChannel, to.channel) ?? queue.mode) ?? "collect",
    inboundDebounceMs: (to) => own(config.messages.inbound.byChannel, to.channel) ?? config.messages.inbound.debounceMs,
    textCommands: config.commands.text,
    resetTriggers: config.session.resetTriggers,
    staleAfterMs: config.messages.recovery.maxAgeHours * HOUR_MS,
    maxConcurrent: config.agents.defaults.maxConcurrent,
    maxConcurrentSubagents: config.agents.defaults.subagents.maxConcurrent,
    stuck: { warnMs: config.diagnostics.stuckSessionWarnMs, endMs: config.diagnostics.stuckSessionAbortMs },
    keyFor: (message) => keyFor(message, config, defaultAgent.id),
    agentOf: (key) => agentOf(key, defaultAgent.id),
    broadcast: (message) => broadcastOf(message, config, defaultAgent.id),
    isOwner: (message) => message.options?.operator === true || isNamed(owners, message),
    hasApproverIn: (channel) => hasApproverIn(channel, config),
    mayApprove: (message) => mayApprove(message, config),
    approvalRoute: (question, chat) => approvalRoute(question, config, chat),
    mayAnswer: (key, { channel, chat }) => mayAnswer(config.session.sendPolicy, { key, channel, chatType: chat.kind }),
    mayCommand: (message) => mayCommand(message, config.commands.allowFrom),
    mayElevate: (message, agent) => mayElevate(message, agent, config),
    whyOver: (to, lastUsed, now) =>
      whyOver(resetRuleFor(config.session, { channel: to.channel, type: typeOf(placeOf(to, config)) }), lastUsed, now),
    reaction: (message) =>
      ackReactionOf(message, {
        messages: config.messages,
        account: accountOf(config, message.from),
        patterns: () => patternsFor(message, live),
      }),
    typingMode: (message) =>
      message.from.chat.kind === "direct" || isAddressedTo(message, live) ? "instant" : "message",
    chatPrompt: (message) => {
      const account = accountOf(config, message.from);
      return { text: chatPrompt(account, message), skills: chatSkills(account, message) };
    },
    chatTools: (message) => chatToolRules(accountOf(config, message.from), accountKey(config, message.from), message),
    chat: (to) => ({
      ...styleOf(accountOf(config, to), config),
      ...historyOf(to, config),
      replyToMode: replyModeOf(accountOf(config, to), to),
    }),
  };
}

const HOUR_MS = 3_600_000;

function typeOf(to: Peer): "direct" | "group" | "thread" {
  return to.thread === undefined ? to.chat.kind : "thread";
}

function isNamed(owners: ReadonlySet<string>, message: InboundMessage): boolean {
  const { id, e164 } = message.sender;
  return [id, e164].some(
    (name) => name !== undefined && (owners.has(name) || owners.has(`${message.from.channel}:${name}`)),
  );
}

/**
 * Whether a sender may use commands by `commands.allowFrom`. A channel's own list replaces the one for every channel;
 * undefined when there is neither.
 */
function mayCommand(message: InboundMessage, allowFrom: Config["commands"]["allowFrom"]): boolean | undefined {
  const list = own(allowFrom, message.from.channel) ?? own(allowFrom, "*");
  if (list === undefined) return undefined;
  const names = new Set(list.map(String));
  return names.has("*") || isNamed(names, message);
}

function replyModeOf(account: AccountConfig, to: Peer): ChatStyle["replyToMode"] {
  const { direct, group, channel } = account.replyToModeByChatType;
  const mode = (to.chat.kind === "direct" ? direct : (group ?? channel)) ?? account.replyToMode;
  return mode === "batched" ? "first" : mode;
}

function styleOf(account: AccountConfig, config: Config): Omit<ChatStyle, "replyToMode"> {
  const prefix = account.responsePrefix ?? config.messages.responsePrefix;
  const { mode, nativeTransport, chunkMode = account.chunkMode } = account.streaming;
  const { mediaMaxMb } = account;
  const { blockStreamingChunk: chunk, blockStreamingCoalesce } = config.agents.defaults;
  return {
    ...(mode !== undefined && { streaming: mode === "progress" ? "partial" : mode }),
    ...(!nativeTransport && { nativeStreaming: false }),
    ...(chunkMode === "newline" && { byParagraph: true }),
    ...(prefix !== undefined && { responsePrefix: prefix }),
    coalesce: {
      minChars: blockStreamingCoalesce.minChars ?? chunk.minChars,
      maxChars: blockStreamingCoalesce.maxChars ?? chunk.maxChars,
      idleMs: blockStreamingCoalesce.idleMs,
    },
    ...(mediaMaxMb !== undefined && { mostMediaBytes: mediaMaxMb * 1_048_576 }),
    ...typesOf(account),
  };
}

/** Number of turns of a direct chat that the model sees: the setting of the chat, of its account, or for all. */
function historyOf(to: Peer, config: Config): Pick<ChatStyle, "dmHistoryLimit"> {
  const { dms, dmHistoryLimit } = accountOf(config, to);
  const most = own(dms, to.chat.id)?.historyLimit ?? dmHistoryLimit ?? config.session.dmHistoryLimit;
  return most === undefined ? {} : { dmHistoryLimit: most };
}

const typesOf = ({ mediaTypes }: AccountConfig): Pick<ChatStyle, "mediaTypes"> =>
  mediaTypes.allow || mediaTypes.deny.length > 0 ? { mediaTypes } : {};

/** The object form of `ackReaction`, with the keys that WhatsApp's section has. */
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
function ackReactionOf(
  message: InboundMessage,
  rules: AckRules,
): { readonly emoji: string; readonly removeAfter: boolean } | undefined {
  const { messages } = rules;
  const { emoji, isMeant } = choiceOf(message, rules);
  if (emoji === "" || message.event === "reaction" || !isMeant()) return undefined;
  return { emoji, removeAfter: messages.removeAckAfterReply };
}

type AckConfig = z.output<typeof ackConfig>;

/** Reads `ackReaction` in the form of an object, once for each object. Undefined when the object has another shape. */
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

/** The session of a message, by the bindings. */
function keyFor(message: InboundMessage, config: Config, defaultAgent: AgentId): SessionKey {
  return keyOf(message, config, { agent: configuredAgent(message, config) ?? defaultAgent, defaultAgent });
}

/** The broadcast of a message's chat, which counts before the bindings; undefined when it names no agent. */
function broadcastOf(message: InboundMessage, config: Config, defaultAgent: AgentId): Broadcast | undefined {
  const agents = broadcastTo(config.broadcast, message);
  if (agents.length === 0) return undefined;
  const keys = agents.map((agent) => keyOf(message, config, { agent, defaultAgent }));
  return { strategy: config.broadcast.strategy, keys };
}

function keyOf(
  message: InboundMessage,
  config: Config,
  { agent, defaultAgent }: { readonly agent: string; readonly defaultAgent: AgentId },
): SessionKey {
  const dmScope = routeOf(message, config)?.session?.dmScope;
  return keyForPeer(placeOf(message.from, config), message.sender, {
    ...config.session,
    ...(dmScope && { dmScope }),
    agentId: agentId(agent),
    defaultAgent,
  });
}
