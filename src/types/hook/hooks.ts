import type { AgentId, SessionKey } from "../ids.ts";
import type { CalledHook, HookEvents } from "./events.ts";
import type { HookName } from "./hook-table.ts";

/** The run that a hook is called from. */
interface HookRun {
  readonly agentId?: AgentId;
  readonly sessionKey?: SessionKey;
  readonly sessionId?: string;
  readonly runId?: string;
  readonly workspaceDir?: string;
  /** The channel. */
  readonly messageProvider?: string;
  /** Cause of the run. */
  readonly trigger?: string;
  readonly toolName?: string;
  readonly toolCallId?: string;
}

/** The message that a hook is called for. */
interface HookChat {
  readonly channelId?: string;
  readonly accountId?: string;
  readonly conversationId?: string;
  readonly senderId?: string;
  readonly messageId?: string;
}

/** The subagent that a hook is called for. */
interface HookSubagent {
  readonly childSessionKey?: SessionKey;
  /** The session that asked for the subagent. */
  readonly requesterSessionKey?: SessionKey;
}

/** Place that a hook is called from, in the field's names. Fields that are unknown there are unset. */
export interface HookContext extends HookRun, HookChat, HookSubagent {}

/** The additions of plugins to a prompt; several answers are joined by an empty line, a later `systemPrompt` wins. */
export interface PromptAdditions {
  /** Texts before and after the user's text, and part of the transcript. */
  readonly prependContext?: string;
  readonly appendContext?: string;
  /** Replaces the system prompt. */
  readonly systemPrompt?: string;
  readonly prependSystemContext?: string;
  readonly appendSystemContext?: string;
  /** The run keeps only the tools that every one of these lists names. */
  readonly toolCaps?: readonly (readonly string[])[];
}

/** A plugin's handler. The caller of the hook checks the result. */
export type HookHandler = (event: unknown, context: HookContext) => unknown;

export interface HookOptions {
  /** Higher ones are called first; those alike in the order of their registration. */
  readonly priority?: number;
  /** Milliseconds; by the kind of hook when unset. */
  readonly timeoutMs?: number;
  /** Whether the hook is called now, asked each time; always when unset. Must not throw. */
  isCalled?(): boolean;
  /** Name of an event in the log; the name of the hook when unset. Must not throw. */
  shownAs?(event: unknown): string | undefined;
}

/** Decision of a gate. A hook that throws or is late blocks as well. */
export type GateVerdict = { readonly isBlocked: false } | { readonly isBlocked: true; readonly reason: string };

/** A hook that is to be called. */
export interface HookCall<N extends CalledHook> {
  readonly name: N;
  readonly event: HookEvents[N];
  readonly context: HookContext;
  /**
   * Used by `chain`: shared by all calls for one reply, so that the plugins whose hooks are late cannot delay it
   * without end.
   */
  readonly lateCalls?: LateCalls;
}

/** Number of late calls of hooks, by plugin. */
export type LateCalls = Map<string, number>;

/** The hooks with the context of one run or one chat. */
export interface BoundHooks {
  readonly runner: HookRunner;
  readonly context: HookContext;
}

/** The event for the next hook, after this answer to this event; undefined when no further hook is to be called. */
export type NextEvent<N extends CalledHook> = (
  event: HookEvents[N],
  answer: unknown,
  owner: string,
) => HookEvents[N] | undefined;

/** Reads an answer; undefined when it says nothing. When the answer throws while it is read, the hook has failed. */
export type ReadAnswer<T> = (answer: unknown, owner: string) => T | undefined;

/** How the answers of a gate are read. `next`: the event as the hooks so far left it. */
export interface GateRules<N extends CalledHook, T> {
  accepts(answer: unknown): T | undefined;
  refused(reason: string): T;
  next?(): HookEvents[N];
}

/** Calls the hooks of all plugins. No method throws or rejects: a hook that throws or takes too long is logged. */
export interface HookRunner {
  /** Whether any plugin has the hook. Without one a call costs nothing, so events need not be made. */
  has(name: HookName): boolean;
  /** Results of `read` on the answers, in the order of the hooks; hooks that threw or were late have none. */
  ask<N extends CalledHook, T>(call: HookCall<N>, read: ReadAnswer<T>): Promise<readonly T[]>;
  /** The first answer that `accepts` takes; the hooks after it are not called. `owner`: the plugin. */
  first<N extends CalledHook, T>(call: HookCall<N>, accepts: ReadAnswer<T>): Promise<T | undefined>;
  /**
   * Calls each hook with the event as the hook before it left it. `next` makes that event; undefined ends the calls.
   */
  chain<N extends CalledHook>(call: HookCall<N>, next: NextEvent<N>): Promise<void>;
  /** The same for hooks of the kind `sync`, without a wait. A hook that answers with a promise has answered nothing. */
  chainNow<N extends CalledHook>(call: HookCall<N>, next: NextEvent<N>): void;
  /** The same for a gate: a hook that throws or is late counts as `refused`. */
  gate<N extends CalledHook, T>(call: HookCall<N>, rules: GateRules<N, T>): Promise<T | undefined>;
  /** Calls hooks that nobody waits for. */
  notify<N extends CalledHook>(name: N, event: HookEvents[N], context: HookContext): void;
}
