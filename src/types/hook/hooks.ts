import type { AgentId, SessionKey } from "../ids.ts";
import type { ChatMessage } from "../run/model.ts";
import type { HookName } from "./hook-table.ts";

/** Where a hook is called from, in the field's names. What is not known there is unset. */
export interface HookContext {
  readonly agentId?: AgentId;
  readonly sessionKey?: SessionKey;
  readonly sessionId?: string;
  readonly runId?: string;
  readonly workspaceDir?: string;
  /** The channel. */
  readonly messageProvider?: string;
  readonly channelId?: string;
  readonly accountId?: string;
  readonly conversationId?: string;
}

/** The additions of plugins to a prompt; several answers are joined by an empty line, a later `systemPrompt` wins. */
export interface PromptAdditions {
  /** Before and after the user's text, and part of the transcript. */
  readonly prependContext?: string;
  readonly appendContext?: string;
  /** Replaces the system prompt. */
  readonly systemPrompt?: string;
  readonly prependSystemContext?: string;
  readonly appendSystemContext?: string;
}

interface PromptEvent {
  readonly prompt: string;
  readonly messages: readonly ChatMessage[];
}

interface ToolCallEvent {
  readonly toolName: string;
  readonly toolCallId: string;
  readonly params: unknown;
}

interface MessageEvent {
  readonly content: string;
  readonly from: string;
  readonly senderId: string;
  readonly messageId?: string;
  /** Epoch milliseconds. */
  readonly timestamp: number;
  readonly isGroup: boolean;
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

/** The event of each hook that the gateway calls. */
export interface HookEvents {
  agent_turn_prepare: PromptEvent;
  before_prompt_build: PromptEvent;
  before_agent_start: PromptEvent;
  before_agent_run: PromptEvent;
  agent_end: {
    readonly messages: readonly ChatMessage[];
    readonly success: boolean;
    readonly error?: string;
    readonly durationMs: number;
  };
  before_tool_call: ToolCallEvent;
  after_tool_call: ToolCallEvent & { readonly result: unknown; readonly error?: string; readonly durationMs: number };
  message_received: MessageEvent;
  channel_pairing_requested: { readonly channel: string; readonly accountId: string; readonly senderId: string };
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
  gateway_start: { readonly port?: number };
  gateway_stop: { readonly reason?: string };
}
export type CalledHook = keyof HookEvents;

/** The event of a hook; nothing is known of those that the gateway never calls. */
export type HookEvent<N extends HookName> = N extends CalledHook ? HookEvents[N] : unknown;

/** A plugin's handler. What it returns is checked by whoever calls the hook. */
export type HookHandler = (event: unknown, context: HookContext) => unknown;

export interface HookOptions {
  /** Higher ones are called first; those alike in the order of their registration. */
  readonly priority?: number;
  /** Milliseconds; by the kind of hook when unset. */
  readonly timeoutMs?: number;
}

/** What a gate says. A hook that throws or is late blocks as well. */
export type GateVerdict = { readonly isBlocked: false } | { readonly isBlocked: true; readonly reason: string };

/** Calls the hooks of all plugins. No method throws or rejects: a hook that throws or takes too long is logged. */
export interface HookRunner {
  /** Whether any plugin has the hook. Without one a call costs nothing, so events need not be made. */
  has(name: HookName): boolean;
  /** The answers in the order of the hooks; those that threw or were late have none. */
  ask<N extends CalledHook>(name: N, event: HookEvents[N], context: HookContext): Promise<readonly unknown[]>;
  /** The first answer that `accepts` takes; the hooks after it are not called. */
  first<N extends CalledHook, T>(
    call: { readonly name: N; readonly event: HookEvents[N]; readonly context: HookContext },
    accepts: (answer: unknown) => T | undefined,
  ): Promise<T | undefined>;
  /** The same for a gate: a hook that throws or is late counts as `refused`. */
  gate<N extends CalledHook, T>(
    call: { readonly name: N; readonly event: HookEvents[N]; readonly context: HookContext },
    rules: { accepts(answer: unknown): T | undefined; refused(reason: string): T },
  ): Promise<T | undefined>;
  /** Nobody waits for these hooks. */
  notify<N extends CalledHook>(name: N, event: HookEvents[N], context: HookContext): void;
}
