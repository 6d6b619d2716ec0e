import type { AccountConfig } from "../channels/config.ts";
import type { ChatStyle, DispatchSettings, QueueMode } from "../dispatch/ports.ts";
import { isOver, resetRuleFor } from "../sessions/expiry.ts";
import { agentOf, keyForPeer } from "../sessions/keys.ts";
import type { InboundMessage, Peer } from "../types/message.ts";
import { accountOf } from "./accounts.ts";
import type { Config } from "./config/schema.ts";
import type { Live } from "./live.ts";

/** The dispatch rules of the config in force; made once per config. */
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
    queueMode: (to) => queueMode(queue.byChannel[to.channel] ?? queue.mode),
    inboundDebounceMs: (to) => config.messages.inbound.byChannel[to.channel] ?? config.messages.inbound.debounceMs,
    textCommands: config.commands.text,
    resetTriggers: config.session.resetTriggers,
    maxConcurrent: config.agents.defaults.maxConcurrent,
    keyFor: (message) =>
      keyForPeer(message.from, message.sender, {
        ...config.session,
        agentId: defaultAgent.id,
        defaultAgent: defaultAgent.id,
      }),
    agentOf: (key) => agentOf(key, defaultAgent.id),
    isOwner: (message) => message.options?.operator === true || isNamed(owners, message),
    isOver: (to, lastUsed, now) =>
      isOver(resetRuleFor(config.session, { channel: to.channel, type: typeOf(to) }), lastUsed, now),
    reaction: (message) => reactionFor(message, config, accountOf(config, message.from)),
    chat: (to) => styleOf(accountOf(config, to), config),
  };
}

function queueMode(mode: string): QueueMode {
  if (mode === "queue") return "followup";
  if (mode === "steer+backlog") return "steer-backlog";
  return mode === "steer" || mode === "steer-backlog" || mode === "followup" || mode === "interrupt" ? mode : "collect";
}

function typeOf(to: Peer): "direct" | "group" | "thread" {
  return to.thread === undefined ? to.chat.kind : "thread";
}

function isNamed(owners: ReadonlySet<string>, message: InboundMessage): boolean {
  const { id, e164 } = message.sender;
  return [id, e164].some(
    (name) => name !== undefined && (owners.has(name) || owners.has(`${message.from.channel}:${name}`)),
  );
}

function styleOf(account: AccountConfig, config: Config): ChatStyle {
  const prefix = account.responsePrefix ?? config.messages.responsePrefix;
  const { mode } = account.streaming;
  const { mediaMaxMb, dmHistoryLimit } = account;
  const { blockStreamingChunk: chunk, blockStreamingCoalesce, humanDelay } = config.agents.defaults;
  const pause = pauseOf(humanDelay);
  return {
    replyToMode: account.replyToMode === "batched" ? "first" : account.replyToMode,
    ...(mode !== undefined && { streaming: mode === "progress" ? "partial" : mode }),
    ...(prefix !== undefined && { responsePrefix: prefix }),
    coalesce: {
      minChars: blockStreamingCoalesce.minChars ?? chunk.minChars,
      maxChars: blockStreamingCoalesce.maxChars ?? chunk.maxChars,
      idleMs: blockStreamingCoalesce.idleMs,
    },
    ...(pause && { pause }),
    ...(mediaMaxMb !== undefined && { mostMediaBytes: mediaMaxMb * 1_048_576 }),
    ...(dmHistoryLimit !== undefined && { dmHistoryLimit }),
  };
}

/** What `natural` means, in milliseconds. */
const NATURAL_PAUSE = { minMs: 800, maxMs: 2500 };

function pauseOf({ mode, minMs, maxMs }: Config["agents"]["defaults"]["humanDelay"]): ChatStyle["pause"] {
  if (mode === "off") return undefined;
  return mode === "natural" ? NATURAL_PAUSE : { minMs, maxMs: Math.max(minMs, maxMs) };
}

function reactionFor(message: InboundMessage, config: Config, account: AccountConfig) {
  const { ackReaction, ackReactionScope: scope, removeAckAfterReply: removeAfter } = config.messages;
  const emoji = typeof account.ackReaction === "string" ? account.ackReaction : ackReaction;
  const isDirect = message.from.chat.kind === "direct";
  const isMeant = {
    all: true,
    direct: isDirect,
    "group-all": !isDirect,
    "group-mentions": !isDirect && message.mentionsBot,
    off: false,
    none: false,
  }[scope];
  return emoji === "" || !isMeant ? undefined : { emoji, removeAfter };
}
