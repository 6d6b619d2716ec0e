import type { SessionKey } from "../ids.ts";
import type { AssistantMessage, ChatMessage, ToolResultMessage } from "../run/model.ts";
import type { HookName } from "./hook-table.ts";

interface PromptEvent {
  readonly prompt: string;
  readonly messages: readonly ChatMessage[];
}

/** Where a message came from. */
interface InboundPlace {
  readonly channel: string;
  readonly accountId: string;
  readonly conversationId: string;
  readonly threadId?: string;
  readonly isGroup: boolean;
  readonly sessionKey: SessionKey;
}

interface InboundSender {
  readonly senderId: string;
  readonly senderName?: string;
  readonly senderUsername?: string;
}

/** A message that a plugin may answer instead of the agent. */
interface InboundEvent extends InboundPlace, InboundSender {
  readonly content: string;
  readonly body: string;
  readonly messageId: string;
  readonly replyToId?: string;
  readonly replyToBody?: string;
  /** Epoch milliseconds. */
  readonly timestamp: number;
  readonly wasMentioned: boolean;
}

interface ModelCallEvent {
  readonly runId: string;
  readonly callId: string;
  readonly sessionKey: SessionKey;
  readonly sessionId: string;
  readonly provider: string;
  readonly model: string;
  readonly api: string;
  /** Tokens of the model's window. */
  readonly contextTokenBudget: number;
}

interface ModelUsage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly total: number;
}

/** Properties of one part of a reply that a plugin may change. */
export interface ReplyEdit {
  /** Markdown. */
  readonly text?: string;
  /** Paths or names of the files. */
  readonly mediaUrls?: readonly string[];
}

interface CompactionEventFacts {
  readonly messageCount: number;
  /** Estimated tokens of the conversation. */
  readonly tokenCount?: number;
  /** Absolute path of the transcript. */
  readonly sessionFile?: string;
}

interface ToolCallEvent {
  readonly toolName: string;
  readonly toolCallId: string;
  readonly params: unknown;
  readonly runId?: string;
}

interface MessageEvent {
  readonly content: string;
  /** The chat. */
  readonly from: string;
  readonly senderId: string;
  readonly messageId: string;
  readonly threadId?: string;
  readonly replyToId?: string;
  readonly sessionKey: SessionKey;
  /** Epoch milliseconds. */
  readonly timestamp: number;
  readonly isGroup: boolean;
  readonly metadata: { readonly channel: string; readonly senderName?: string; readonly senderUsername?: string };
}

/** Why a conversation ended, in the field's words. */
export type SessionEndReason =
  | "new"
  | "reset"
  | "idle"
  | "daily"
  | "compaction"
  | "deleted"
  | "shutdown"
  | "restart"
  | "unknown";

/** Hooks of messages. */
interface MessageHookEvents {
  inbound_claim: InboundEvent;
  before_dispatch: InboundEvent;
  message_received: MessageEvent;
  channel_pairing_requested: { readonly channel: string; readonly accountId: string; readonly senderId: string };
  message_sending: {
    readonly to: string;
    readonly content: string;
    readonly replyToId?: string;
    readonly threadId?: string;
    readonly metadata: { readonly channel: string; readonly accountId: string };
  };
  message_sent: {
    readonly to: string;
    readonly content: string;
    readonly success: boolean;
    readonly messageId?: string;
    readonly error?: string;
  };
  reply_payload_sending: {
    readonly payload: ReplyEdit;
    readonly kind: "block" | "final" | "tool";
    readonly channel: string;
    readonly sessionKey?: SessionKey;
  };
}

/** Hooks before a run asks a model. */
interface PromptHookEvents {
  before_model_resolve: { readonly prompt: string };
  heartbeat_prompt_contribution: { readonly sessionKey: SessionKey; readonly agentId: string };
  agent_turn_prepare: PromptEvent;
  before_prompt_build: PromptEvent;
  before_agent_start: PromptEvent;
  before_agent_run: PromptEvent;
  /** `cleanedBody`: the text of the turn, as the model would see it. */
  before_agent_reply: { readonly cleanedBody: string };
}

/** Hooks of a run under way. */
interface RunHookEvents {
  llm_input: {
    readonly runId: string;
    readonly sessionId: string;
    readonly provider: string;
    readonly model: string;
    readonly systemPrompt: string;
    readonly prompt: string;
    readonly historyMessages: readonly ChatMessage[];
    readonly imagesCount: number;
    readonly tools: readonly { readonly name: string; readonly description: string }[];
  };
  llm_output: {
    readonly runId: string;
    readonly sessionId: string;
    readonly provider: string;
    readonly model: string;
    readonly resolvedRef: string;
    readonly harnessId: string;
    readonly contextTokenBudget: number;
    readonly prompt: string;
    readonly assistantTexts: readonly string[];
    readonly lastAssistant?: AssistantMessage;
    readonly usage: ModelUsage;
  };
  model_call_started: ModelCallEvent;
  model_call_ended: ModelCallEvent & {
    readonly durationMs: number;
    readonly outcome: "completed" | "error";
    /** The kind of failure, as in receipts. */
    readonly errorCategory?: string;
    readonly failureKind?: "aborted";
  };
  before_tool_call: ToolCallEvent;
  after_tool_call: ToolCallEvent & { readonly result: unknown; readonly error?: string; readonly durationMs: number };
  resolve_exec_env: { readonly toolName: "exec"; readonly host: "gateway"; readonly sessionKey?: SessionKey };
  tool_result_persist: {
    readonly toolName: string;
    readonly toolCallId: string;
    readonly message: ToolResultMessage;
    /** The gateway wrote the result for a call whose own result is not known. */
    readonly isSynthetic: boolean;
  };
  before_message_write: { readonly message: ChatMessage; readonly sessionKey: SessionKey; readonly agentId: string };
  before_agent_finalize: {
    readonly runId: string;
    readonly sessionId: string;
    readonly sessionKey: SessionKey;
    readonly provider: string;
    readonly model: string;
    readonly cwd: string;
    /** A hook has already asked for another pass in this run. */
    readonly stopHookActive: boolean;
    readonly lastAssistantMessage: string;
    readonly messages: readonly ChatMessage[];
  };
  agent_end: {
    readonly messages: readonly ChatMessage[];
    readonly success: boolean;
    readonly error?: string;
    readonly durationMs: number;
  };
}

/** Hooks of conversations and of the gateway. */
interface SessionHookEvents {
  session_start: { readonly sessionId: string; readonly sessionKey: SessionKey; readonly resumedFrom?: string };
  session_end: {
    readonly sessionId: string;
    readonly sessionKey: SessionKey;
    readonly reason: SessionEndReason;
    readonly messageCount: number;
    readonly sessionFile: string;
    readonly transcriptArchived: boolean;
    readonly nextSessionId?: string;
    readonly nextSessionKey?: SessionKey;
  };
  before_reset: {
    readonly sessionFile: string;
    readonly messages: readonly ChatMessage[];
    readonly reason: SessionEndReason;
  };
  /** Counts are -1 where a context engine compacts. */
  before_compaction: CompactionEventFacts & { readonly compactingCount?: number };
  after_compaction: CompactionEventFacts & { readonly compactedCount: number };
  before_install: {
    readonly targetType: "plugin" | "skill";
    /** The plugin's id. */
    readonly targetName: string;
    /** Absolute path of the fetched files. */
    readonly sourcePath: string;
    readonly request: { readonly kind: string; readonly mode: "install" | "update" };
  };
  gateway_start: { readonly port?: number };
  gateway_stop: { readonly reason?: string };
}

/** A file of the system prompt, in the field's names. */
export interface BootstrapFile {
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  readonly content: string;
  readonly missing: boolean;
}

interface HeardMessage {
  /** The chat. */
  readonly from: string;
  readonly content: string;
  readonly channelId: string;
  readonly conversationId: string;
  readonly messageId: string;
  readonly senderId: string;
  readonly senderName?: string;
  readonly isGroup: boolean;
  readonly sessionKey: SessionKey;
  /** Epoch milliseconds. */
  readonly timestamp: number;
}

/** Internal events that no hook reports. */
interface InternalHookEvents {
  /**
   * A command of a chat that its sender may give. Commands that begin a new conversation are not included:
   * `session:reset` reports them.
   */
  command: {
    readonly command: string;
    readonly args: string;
    /** The channel. */
    readonly commandSource: string;
    readonly senderId: string;
    readonly sessionKey: SessionKey;
  };
  /** Asked after `before_reset`, with what only internal events have. */
  "session:reset": {
    readonly sessionFile: string;
    readonly messages: readonly ChatMessage[];
    /** The conversation as people read it, without the gateway's texts for the model. */
    readonly conversation: readonly {
      /** Epoch milliseconds. */
      readonly at: number;
      readonly by: "person" | "agent" | "tool";
      readonly name?: string;
      readonly text: string;
    }[];
    /** Somebody who is no owner has written in it. */
    readonly heardGuests: boolean;
    readonly reason: SessionEndReason;
    /** The channel in which somebody asked for it, or `gateway:sessions.reset`; unset when nobody did. */
    readonly commandSource?: string;
    readonly senderId?: string;
  };
  "session:patch": {
    readonly sessionKey: SessionKey;
    readonly patch: Readonly<Record<string, unknown>>;
    readonly sessionEntry: Readonly<Record<string, unknown>>;
  };
  "agent:bootstrap": {
    readonly sessionKey: SessionKey;
    readonly agentId: string;
    readonly workspaceDir: string;
    readonly bootstrapFiles: readonly BootstrapFile[];
  };
  "message:transcribed": HeardMessage & { readonly transcript: string };
  "message:preprocessed": HeardMessage & {
    /** The text as its sender wrote it. */
    readonly body: string;
    /** The text of the turn, as the model sees it. */
    readonly bodyForAgent: string;
    readonly transcript?: string;
  };
}

/** Hooks of subagents. */
interface SubagentHookEvents {
  subagent_spawned: {
    readonly childSessionKey: SessionKey;
    readonly agentId: string;
    readonly runId: string;
    /** `run`: the subagent answers once. */
    readonly mode: "run" | "session";
    readonly threadRequested: boolean;
  };
  subagent_ended: {
    readonly targetSessionKey: SessionKey;
    readonly targetKind: "subagent";
    readonly reason: string;
    readonly runId: string;
    /** Epoch milliseconds. */
    readonly endedAt: number;
    readonly outcome: "ok" | "error" | "timeout" | "killed";
    readonly error?: string;
  };
}

/** The event of each hook that the gateway calls. */
export interface HookEvents
  extends
    MessageHookEvents,
    PromptHookEvents,
    RunHookEvents,
    SessionHookEvents,
    SubagentHookEvents,
    InternalHookEvents {}

export type CalledHook = keyof HookEvents;

/** The event of a hook; unknown for hooks that the gateway never calls. */
export type HookEvent<N extends HookName> = N extends CalledHook ? HookEvents[N] : unknown;
