import type { AgentId, SessionKey } from "../ids.ts";
import type { ChatMessage } from "./model.ts";

/** Where a hook of a run is called from, in the field's names. */
export interface HookContext {
  readonly agentId: AgentId;
  readonly sessionKey: SessionKey;
  readonly sessionId: string;
  readonly workspaceDir: string;
  /** The channel. */
  readonly messageProvider?: string;
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

export interface AgentEnd {
  readonly messages: readonly ChatMessage[];
  readonly success: boolean;
  readonly error?: string;
  readonly durationMs: number;
}

/** The hooks of a run. None of them rejects: a hook that throws or takes too long is skipped and logged. */
export interface RunHooks {
  /** Whether a hook uses `beforePrompt`: only then the conversation is read for it. */
  readonly shapesPrompts: boolean;
  /** `before_prompt_build`, and `before_agent_start` as it was called before. */
  beforePrompt(
    event: { readonly prompt: string; readonly messages: readonly ChatMessage[] },
    context: HookContext,
  ): Promise<PromptAdditions>;
  /** The run does not wait for it. */
  agentEnd(event: AgentEnd, context: HookContext): void;
}

/** The event and the answer of each hook, by its published name. */
export interface HookCalls {
  before_prompt_build: { event: PromptEvent; answer: PromptAdditions | undefined };
  /** The older name of `before_prompt_build`. */
  before_agent_start: { event: PromptEvent; answer: PromptAdditions | undefined };
  agent_end: { event: AgentEnd; answer: undefined };
}
export type HookName = keyof HookCalls;

export const HOOK_NAMES: readonly HookName[] = ["before_prompt_build", "before_agent_start", "agent_end"];

export type PromptEvent = Parameters<RunHooks["beforePrompt"]>[0];

export type HookHandler<N extends HookName> = (
  event: HookCalls[N]["event"],
  context: HookContext,
) => HookCalls[N]["answer"] | void | Promise<HookCalls[N]["answer"] | void>;

export interface HookOptions {
  /** Higher ones are called first; those alike in the order of their registration. */
  readonly priority?: number;
  /** Milliseconds; by the kind of hook when unset. */
  readonly timeoutMs?: number;
}
