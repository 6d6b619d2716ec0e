import type { AgentId, ChannelId, SessionKey } from "../types/ids.ts";
import type { InboundMessage, Peer } from "../types/chat/message.ts";
import type { AgentSettings, TypingSettings } from "../types/settings.ts";
import type { ChatToolRules } from "../types/tool-policy.ts";
import type { QueueMode, QueueSettings, StuckLimits } from "../types/queue.ts";
import type { Approval } from "../types/run/tool.ts";

/** How many runs of all sessions are active at the same time. */
interface RunLimits {
  readonly maxConcurrent: number;
  /** The most runs of subagents, at each depth; they do not count as other runs. */
  readonly maxConcurrentSubagents: number;
}

/** The settings of the config for queues. */
export interface QueueRules {
  readonly queue: Omit<QueueSettings, "mode"> & {
    readonly debounceMsByChannel?: Readonly<Record<string, number>>;
  };
  /** The mode of a chat's channel, else of all channels. */
  queueMode(to: Peer): QueueMode;
}

/** The rules of the config about owners. */
interface OwnerRules {
  isOwner(message: InboundMessage): boolean;
}

/** The rules of the config about who answers approval questions, and where. */
interface ApproverRules {
  /** Whether the config names somebody who can answer questions in this channel. True when unset. */
  hasApproverIn?(channel: ChannelId): boolean;
  /** Whether the sender may answer questions about commands; undefined, or unset, where owners may. */
  mayApprove?(message: InboundMessage): boolean | undefined;
  /** The chats where a question is shown; the chat that it is from when unset. */
  approvalRoute?(question: RoutedQuestion, chat?: Peer): ApprovalRoute;
}

/** Sessions of several agents that answer one message: at the same time, or one after the other. */
export interface Broadcast {
  readonly strategy: "parallel" | "sequential";
  /** At least one session. */
  readonly keys: readonly SessionKey[];
}

interface BroadcastRules {
  /** The sessions in which several agents answer a message; undefined when one agent answers it. */
  broadcast?(message: InboundMessage): Broadcast | undefined;
}

/** The settings of the config for the handling of messages. Read again for each message. */
export interface DispatchSettings extends RunLimits, QueueRules, OwnerRules, ApproverRules, BroadcastRules {
  /** The times without progress after which a turn is reported, and after which it is ended. */
  readonly stuck: StuckLimits;
  readonly agents: ReadonlyMap<AgentId, AgentSettings>;
  readonly defaultAgent: AgentId;
  /** Milliseconds in which messages of one chat become one turn. */
  inboundDebounceMs(to: Peer): number;
  /** Whether messages that begin with `/` are commands. */
  readonly textCommands: boolean;
  /** Texts that begin a new conversation, in addition to `/new` and `/reset`. */
  readonly resetTriggers: readonly string[];
  /** Age in milliseconds from which on a message is reported as missed instead of answered. Unset: no limit. */
  readonly staleAfterMs?: number;
  /** The session that a message belongs to. */
  keyFor(message: InboundMessage): SessionKey;
  agentOf(key: SessionKey): AgentId;
  /**
   * Whether `commands.allowFrom` names the sender. Where the config has a list for the message's channel, only the
   * senders in it and owners may use commands. Undefined without a list: then the chat and the command decide.
   */
  mayCommand?(message: InboundMessage): boolean | undefined;
  /** Whether the sender may let commands of an agent leave its sandbox. Nobody may when unset. */
  mayElevate?(message: InboundMessage, agent: AgentId): boolean;
  /** Whether the config lets messages of this session be answered. True when unset. */
  mayAnswer?(key: SessionKey, from: Peer): boolean;
  /**
   * Why a conversation that was last used at `lastUsed` is over by this chat's rules, so that a new one begins;
   * undefined when it is not over. Times in epoch milliseconds.
   */
  whyOver(to: Peer, lastUsed: number, now: number): "idle" | "daily" | undefined;
  chat(to: Peer): ChatStyle;
  /**
   * The text that the config adds to the system prompt in the message's chat, and the only skills that are offered
   * there. Nothing when unset.
   */
  chatPrompt?(message: InboundMessage): ChatPrompt;
  /** The rules of the config about tools in the chat of a message. None when unset. */
  chatTools?(message: Pick<InboundMessage, "from" | "sender" | "guildId">): readonly ChatToolRules[];
  /**
   * The event at which a chat is first shown that the agent types, where the agent's settings name none; at once when
   * unset.
   */
  typingMode?(message: InboundMessage): NonNullable<TypingSettings["mode"]>;
  /** The emoji that a message gets when it is accepted. */
  reaction(message: InboundMessage): { readonly emoji: string; readonly removeAfter: boolean } | undefined;
}

interface ChatPrompt {
  readonly text: string | undefined;
  /** The only skills that are offered; all skills of the agent when unset. */
  readonly skills: readonly string[] | undefined;
}

/** An agent with the skills that are offered in the chat of a message; `placed` is undefined where there is no chat. */
export function agentInChat(
  agent: AgentSettings,
  placed: InboundMessage | undefined,
  settings: DispatchSettings,
): AgentSettings {
  const only = placed && settings.chatPrompt?.(placed).skills;
  if (!only) return agent;
  const { skills: own = only } = agent.prompt;
  return { ...agent, prompt: { ...agent.prompt, skills: own.filter((name) => only.includes(name)) } };
}

/** How a chat is answered. */
export interface ChatStyle {
  readonly replyToMode: "off" | "first" | "all";
  /** How an answer is streamed; as the agent's settings say when unset. */
  readonly streaming?: "off" | "partial" | "block";
  /** False: an answer is streamed by editing a message, even where the platform can stream natively. */
  readonly nativeStreaming?: boolean;
  readonly responsePrefix?: string;
  /** Whether each paragraph becomes its own message. */
  readonly byParagraph?: boolean;
  /** How blocks that follow each other quickly are joined. Not at all when unset. Lengths in UTF-16 units. */
  readonly coalesce?: { readonly minChars: number; readonly maxChars: number; readonly idleMs: number };
  /** The most bytes of one file of an answer, where that is less than the gateway's own limit. */
  readonly mostMediaBytes?: number;
  /** Which files of a message are accepted; all when unset. MIME types, with `*` for any part. */
  readonly mediaTypes?: { readonly allow?: readonly string[] | undefined; readonly deny: readonly string[] };
  /** Earlier user turns of a direct chat that the model sees; 0 means all. */
  readonly dmHistoryLimit?: number;
}

/** The fields of a question that decide where it is shown. */
export type RoutedQuestion = Pick<Approval, "agentId" | "sessionKey" | "askedBy">;

/** The chats where the config wants a question to be shown. */
export interface ApprovalRoute {
  /** Whether the question is shown in the chat that it is from. */
  readonly isInChat: boolean;
  /** Chats that get a copy. */
  readonly targets: readonly Peer[];
  /** Targets of the config that cannot be used: a sentence about each. */
  readonly unusable: readonly string[];
}

export const IN_CHAT: ApprovalRoute = { isInChat: true, targets: [], unusable: [] };
