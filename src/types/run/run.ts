import type { AgentId, RunId, SessionKey } from "../ids.ts";
import type { MediaKind } from "../chat/message.ts";
import type { ModelRef, ThinkLevel, Usage } from "./model.ts";
import type { RemovedTool } from "../tool-policy.ts";
import type { Principal } from "./principal.ts";
import type { UnaskedCount } from "./unasked.ts";
import type { UntrustedSource } from "./untrusted.ts";

/** The closed list of what can go wrong in a run; each has a row in the harness's `POLICY`. */
export const FAILURE_KINDS = [
  "auth",
  "billing",
  "budget",
  "rate_limit",
  "overloaded",
  "loading",
  "timeout",
  "context_overflow",
  "request_size",
  "output_limit",
  "thinking_unsupported",
  "thinking_refused",
  "image_size",
  "image_broken",
  "role_ordering",
  "call_ordering",
  "format",
  "refusal",
  "cut_off",
  "network",
  "compaction_failure",
  "tool_loop",
  "engine",
  "blocked",
  "model_missing",
  "unknown",
] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

export interface Failure {
  readonly kind: FailureKind;
  /** Message for the operator; holds no secret. */
  readonly message: string;
  readonly retryAfterMs?: number;
  /** The most tokens that the provider says one request may have; input and output together where it counts both. */
  readonly limitTokens?: number;
  /** Tokens that the provider says this request had, counted as `limitTokens` is. */
  readonly requestedTokens?: number;
  /** The most tokens of output that the provider would have accepted. */
  readonly maxOutputTokens?: number;
  /**
   * `maxOutputTokens` says nothing of other requests: it is half of the tokens that this request asked for, or the
   * number that the account can pay.
   */
  readonly isOfRequest?: true;
  /** Bytes of the request that was refused as too large. */
  readonly requestBytes?: number;
  /**
   * Text for the person who wrote: the words of the plugin that does not allow the run, or a text that says more than
   * the kind.
   */
  readonly notice?: string;
  /** The present turn was sent alone: a fresh conversation would not fit better. */
  readonly isAlone?: boolean;
}

export type RunResult =
  | { readonly kind: "replied"; readonly stop: "stop" | "length" }
  /** `disk`: something could not be written. As after `shutdown`, the turn has no outcome yet and continues later. */
  | { readonly kind: "aborted"; readonly by: "user" | "timeout" | "shutdown" | "disk" }
  | { readonly kind: "failed"; readonly failure: Failure };

export type RunTrigger =
  | "message"
  | "memory"
  | "heartbeat"
  | "cron"
  /** A request of another program. */
  | "hook"
  | "subagent"
  /** A background command has ended. */
  | "exec"
  | "api"
  /** No run: the cost of a summary, a context engine, a plugin or a tool outside of one. */
  | "compaction"
  | "engine"
  | "plugin"
  | "tool";

export interface RunFacts {
  readonly runId: RunId;
  readonly sessionKey: SessionKey;
  readonly sessionId: string;
  readonly agentId: AgentId;
  readonly trigger: RunTrigger;
  /** Transcript id of the turn's message; unset where no transcript keeps the run. */
  readonly turnId?: string;
  /** The plugin that asked for the run. */
  readonly plugin?: string;
  /** The principal of the run; unset where no turn began it. */
  readonly principal?: Principal;
}

/** A model call chain of a run: a candidate with a key, and how the chain ended. */
export interface Try {
  readonly model: ModelRef;
  /** Id of the key's `AuthProfile`. */
  readonly profile?: string;
  readonly thinking: ThinkLevel;
  /** Size of the prompt: messages, and tokens by estimate. */
  readonly messages: number;
  readonly estimatedTokens: number;
  readonly durationMs: number;
  readonly outcome: "replied" | "aborted" | FailureKind;
  /** The provider's text, without secrets. */
  readonly message?: string;
  /** The remedy for the failure. */
  readonly remedy?: string;
}

/** A candidate or key that was not asked, and why. */
export interface Skipped {
  readonly model: ModelRef;
  readonly profile?: string;
  readonly why: string;
}

export interface ToolCount {
  readonly name: string;
  readonly calls: number;
  readonly failed: number;
  readonly ms: number;
  /** Calls that ran outside the sandbox since somebody permitted that; none when unset. */
  readonly elevated?: number;
}

/** The last call of a tool that failed in a run, whatever came after it. */
export interface ToolError {
  readonly toolName: string;
  /** The topic of the call. */
  readonly meta?: string;
  /** The text of the result: one line, 400 UTF-16 units at most. */
  readonly error?: string;
}

interface ToolErrorText {
  readonly toolName: string;
  readonly meta?: string | undefined;
  readonly error?: string | undefined;
}

/** A failed call in one line. */
export const toolErrorText = ({ toolName, meta, error = "failed without a word" }: ToolErrorText): string =>
  `${toolName}${meta === undefined ? "" : ` (${meta})`}: ${error}`;

/** A named piece of the user's turn or of the system prompt, with its size. */
export interface PromptPart {
  readonly name: string;
  /** Source of the part: a file, a config key, a module. */
  readonly source: string;
  readonly tokens: number;
  /**
   * UTF-16 length of the part's text, so that it can be found again in the whole; absent in records of older versions.
   */
  readonly chars?: number;
  /** UTF-16 length of the file that the part shows a piece of; unset when it shows all. */
  readonly wholeChars?: number;
}

/**
 * Cuts that make messages fit a window; only in the sent messages, never in the transcript. Counts from their
 * beginning, so that a later call of the same loop begins with the same bytes.
 */
export interface Fit {
  /** Tokens that one result of a tool may take. */
  readonly eachResult?: number;
  /** Results of tools, the oldest, whose content is cleared. */
  readonly cleared: number;
  /** Earlier turns that are left out. */
  readonly turns: number;
  /** Steps of the present turn that are left out: an answer with the results of its calls. */
  readonly steps: number;
}

/** The record by which a prompt can be shown again: texts by their hash in the journal, the conversation by its entries. */
export interface PromptRecord {
  /** Key of the system prompt's text among the journal's texts. */
  readonly system: string;
  /** Pieces of the system prompt, in order. */
  readonly systemParts: readonly PromptPart[];
  /** Pieces that the body stages added to the user's turn. */
  readonly bodyParts: readonly PromptPart[];
  /** First and last transcript entry of the window; none of an empty one. */
  readonly firstEntryId?: string;
  readonly lastEntryId?: string;
  /** The window began with a summary. */
  readonly hasSummary: boolean;
  /** Properties of the model that decided how the transcript became a request. */
  readonly api: string;
  readonly input: readonly ("text" | "image")[];
  readonly images: boolean;
  /** False: images of earlier turns were left out. */
  readonly earlierImages?: boolean | undefined;
  readonly strict: boolean;
  /** How the messages were cut; they were not when absent. */
  readonly fit?: Fit;
  readonly earlierTurns?: number;
  /** Tool results that were cut, as `history/prune.ts` has them. */
  readonly cuts: Readonly<Record<string, "trimmed" | "cleared">>;
  /** Set when an engine made the messages: key among the journal's texts, see `keepMessages`. */
  readonly engineMessages?: string;
  readonly tools: readonly string[];
  readonly messages: number;
  readonly estimatedTokens: number;
  /** Where the model's window went. */
  readonly budget?: TokenBudget;
}

/** Use of a model's window in tokens; those of texts estimated. */
export interface TokenBudget {
  readonly contextWindow: number;
  /** Kept free for the answer. */
  readonly reserveResponse: number;
  /** Descriptions and schemas of the tools. */
  readonly reserveTools: number;
  /** The same for each tool, in their order; absent in records of older versions. */
  readonly eachTool?: readonly number[];
  /** Tokens left for all that the model reads. */
  readonly available: number;
  readonly systemPrompt: number;
  /** The present turn. */
  readonly event: number;
  /** Tokens left for the conversation before the present turn; never below 0. */
  readonly history: number;
}

/** Model calls that are not part of the conversation: summaries, and calls of tools, a context engine or another part of a plugin. */
export interface SideCost {
  readonly what: "compaction" | "engine" | "plugin" | "tool";
  /** The tool that made the calls. */
  readonly tool?: string;
  /** The plugin that made the calls. */
  readonly plugin?: string;
  readonly model: ModelRef;
  readonly calls: number;
  readonly usage: Usage;
}

/** Result of fetching a file that came with a message of a run. */
export interface FileFate {
  /** Row of the inbox. */
  readonly inboxId: number;
  readonly kind: MediaKind;
  /** Name of the file, as its sender says. */
  readonly name?: string;
  /** How often the file was requested. */
  readonly tries: number;
  readonly durationMs: number;
  /** Size of the file that was fetched. */
  readonly bytes?: number;
  /** Why the file could not be fetched. */
  readonly why?: string;
}

/** A file that an answer names and that was not sent with it. */
export interface RefusedAttachment {
  /** As the answer names it. */
  readonly file: string;
  readonly why: string;
}

export const refusedText = ({ file, why }: RefusedAttachment): string => `${file} was not attached: ${why}`;

interface RunCause {
  readonly trigger?: RunTrigger;
  /** The principal of the turn. */
  readonly principal?: Principal;
  /** The plugin that asked for the run: the cost is the plugin's. */
  readonly plugin?: string;
}

/** Facts about the caution that the calls of a run needed. */
interface RunCaution {
  /** Content of others that the conversation has read. */
  readonly untrusted?: readonly UntrustedSource[];
  /** Calls that needed an approval and that nobody could have been asked about. */
  readonly unasked?: readonly UnaskedCount[];
  /** Tools that the models called although the policy had removed them. */
  readonly removed?: readonly RemovedTool[];
  /** Files that were not sent with the answer. */
  readonly notAttached?: readonly RefusedAttachment[];
}

/** Cost of a run, who answered and why. Fields beyond the first four are absent in records of older versions. */
export interface Receipt extends RunCause, RunCaution {
  readonly model: ModelRef;
  readonly usage: Usage;
  readonly calls: number;
  readonly durationMs: number;
  readonly profile?: string;
  /** Id of the context engine. */
  readonly engine?: string;
  /** Why the context engine was not used. */
  readonly engineDegraded?: string;
  readonly candidates?: readonly ModelRef[];
  readonly tries?: readonly Try[];
  readonly skipped?: readonly Skipped[];
  readonly tools?: readonly ToolCount[];
  readonly lastToolError?: ToolError;
  readonly compactions?: number;
  /** Files in the order of the messages that the run began with. */
  readonly files?: readonly FileFate[];
  /** The part of `calls` and `usage` that was not the conversation's own. */
  readonly beside?: readonly SideCost[];
  /** Parts of each message that joined the run on its way. */
  readonly steered?: readonly (readonly PromptPart[])[];
  /** Prompt of the last attempt. */
  readonly prompt?: PromptRecord;
}
