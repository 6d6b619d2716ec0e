import { z } from "zod";
import type { AgentId, RunId, SessionKey } from "../ids.ts";
import type { MediaKind } from "../chat/message.ts";
import { type Answer, openText } from "../method.ts";
import type { ThinkLevel } from "./model.ts";
import { removedTool } from "../tool-policy.ts";
import { type Principal, shownPrincipal } from "./principal.ts";
import { unaskedCount } from "./unasked.ts";
import { untrustedSource } from "./untrusted.ts";
import { usageShape } from "./usage.ts";

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

const modelRef = z.looseObject({ provider: z.string(), id: z.string() });

/** A model call chain of a run: a candidate with a key, and how the chain ended. */
const attempt = z.looseObject({
  /** Position of the attempt in its run, from 1 on. */
  number: z.number().optional(),
  model: modelRef,
  /** Tokens of the model's context window. */
  window: z.number().optional(),
  /** Id of the key's `AuthProfile`. */
  profile: z.string().optional(),
  thinking: openText<ThinkLevel>(),
  /** Size of the prompt: messages, and tokens by estimate. */
  messages: z.number(),
  estimatedTokens: z.number(),
  durationMs: z.number(),
  outcome: openText<"replied" | "aborted" | FailureKind>(),
  /** The provider's text, without secrets. */
  message: z.string().optional(),
  /** The remedy for the failure. */
  remedy: z.string().optional(),
});
export type Try = Answer<z.output<typeof attempt>>;

/** A candidate or key that was not asked, and why. */
const skipped = z.looseObject({ model: modelRef, profile: z.string().optional(), why: z.string() });
export type Skipped = Answer<z.output<typeof skipped>>;

const toolCount = z.looseObject({
  name: z.string(),
  calls: z.number(),
  failed: z.number(),
  ms: z.number(),
  /** Calls that ran outside the sandbox since somebody permitted that; none when unset. */
  elevated: z.number().optional(),
});
export type ToolCount = Answer<z.output<typeof toolCount>>;

/** The last call of a tool that failed in a run, whatever came after it. */
const toolError = z.looseObject({
  toolName: z.string(),
  /** The topic of the call. */
  meta: z.string().optional(),
  /** The text of the result: one line, 400 UTF-16 units at most. */
  error: z.string().optional(),
});
export type ToolError = Answer<z.output<typeof toolError>>;

/** A failed call in one line. */
export const toolErrorText = ({ toolName, meta, error = "failed without a word" }: ToolError): string =>
  `${toolName}${meta === undefined ? "" : ` (${meta})`}: ${error}`;

/** A named piece of the user's turn or of the system prompt, with its size. */
export const promptPart = z.looseObject({
  name: z.string(),
  /** Source of the part: a file, a config key, a module. */
  source: z.string(),
  tokens: z.number(),
  /**
   * UTF-16 length of the part's text, so that it can be found again in the whole; absent in records of older versions.
   */
  chars: z.number().optional(),
  /** UTF-16 length of the file that the part shows a piece of; unset when it shows all. */
  wholeChars: z.number().optional(),
});
export type PromptPart = Answer<z.output<typeof promptPart>>;

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

/** Use of a model's window in tokens; those of texts estimated. */
const tokenBudget = z.looseObject({
  contextWindow: z.number(),
  /** Kept free for the answer. */
  reserveResponse: z.number(),
  /** Descriptions and schemas of the tools. */
  reserveTools: z.number(),
  /** The same for each tool, in their order; absent in records of older versions. */
  eachTool: z.array(z.number()).optional(),
  /** Tokens left for all that the model reads. */
  available: z.number(),
  systemPrompt: z.number(),
  /** The present turn. */
  event: z.number(),
  /** Tokens left for the conversation before the present turn; never below 0. */
  history: z.number(),
});
export type TokenBudget = Answer<z.output<typeof tokenBudget>>;

/** The part of a prompt's record that people are shown. */
const shownPromptRecord = z.looseObject({
  /** Pieces of the system prompt, in order. */
  systemParts: z.array(promptPart),
  /** Pieces that the body stages added to the user's turn. */
  bodyParts: z.array(promptPart),
  tools: z.array(z.string()),
  messages: z.number(),
  estimatedTokens: z.number(),
  /** Where the model's window went. */
  budget: tokenBudget.optional(),
  system: z.string().optional(),
  firstEntryId: z.string().optional(),
  lastEntryId: z.string().optional(),
  hasSummary: z.boolean().optional(),
  api: z.string().optional(),
  input: z.array(z.string()).optional(),
  images: z.boolean().optional(),
  earlierImages: z.boolean().optional(),
  strict: z.boolean().optional(),
  fit: z.unknown().optional(),
  earlierTurns: z.number().optional(),
  cuts: z.record(z.string(), z.string()).optional(),
  engineMessages: z.string().optional(),
});

/** The record by which a prompt can be shown again: texts by their hash in the journal, the conversation by its entries. */
export interface PromptRecord extends Answer<z.output<typeof shownPromptRecord>> {
  /** Key of the system prompt's text among the journal's texts. */
  readonly system: string;
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
}

/** Model calls that are not part of the conversation: summaries, and calls of tools, a context engine or another part of a plugin. */
const sideCost = z.looseObject({
  what: openText<"compaction" | "engine" | "plugin" | "tool">(),
  /** The tool that made the calls. */
  tool: z.string().optional(),
  /** The plugin that made the calls. */
  plugin: z.string().optional(),
  model: modelRef,
  calls: z.number(),
  usage: usageShape,
});
export type SideCost = Answer<z.output<typeof sideCost>>;

/** Result of fetching a file that came with a message of a run. */
const fileFate = z.looseObject({
  /** Row of the inbox. */
  inboxId: z.number(),
  kind: openText<MediaKind>(),
  /** Name of the file, as its sender says. */
  name: z.string().optional(),
  /** How often the file was requested. */
  tries: z.number(),
  durationMs: z.number(),
  /** Size of the file that was fetched. */
  bytes: z.number().optional(),
  /** Why the file could not be fetched. */
  why: z.string().optional(),
});
export type FileFate = Answer<z.output<typeof fileFate>>;

/** A file that an answer names and that was not sent with it. `file`: as the answer names it. */
const refusedAttachment = z.looseObject({ file: z.string(), why: z.string() });
export type RefusedAttachment = Answer<z.output<typeof refusedAttachment>>;

export const refusedText = ({ file, why }: RefusedAttachment): string => `${file} was not attached: ${why}`;

/** Cost of a run, who answered and why. Fields beyond the first four are absent in records of older versions. */
export const receiptShape = z.looseObject({
  model: modelRef,
  usage: usageShape,
  calls: z.number(),
  durationMs: z.number(),
  trigger: openText<RunTrigger>().optional(),
  /** The principal of the turn. */
  principal: shownPrincipal.optional(),
  /** The plugin that asked for the run: the cost is the plugin's. */
  plugin: z.string().optional(),
  /** Content of others that the conversation has read. */
  untrusted: z.array(untrustedSource).optional(),
  /** Calls that needed an approval and that nobody could have been asked about. */
  unasked: z.array(unaskedCount).optional(),
  /** Tools that the models called although the policy had removed them. */
  removed: z.array(removedTool).optional(),
  /** Files that were not sent with the answer. */
  notAttached: z.array(refusedAttachment).optional(),
  profile: z.string().optional(),
  /** Id of the context engine. */
  engine: z.string().optional(),
  /** Why the context engine was not used. */
  engineDegraded: z.string().optional(),
  candidates: z.array(modelRef).optional(),
  tries: z.array(attempt).optional(),
  skipped: z.array(skipped).optional(),
  tools: z.array(toolCount).optional(),
  lastToolError: toolError.optional(),
  compactions: z.number().optional(),
  /** Files in the order of the messages that the run began with. */
  files: z.array(fileFate).optional(),
  /** The part of `calls` and `usage` that was not the conversation's own. */
  beside: z.array(sideCost).optional(),
  /** Parts of each message that joined the run on its way. */
  steered: z.array(z.array(promptPart)).optional(),
  /** Prompt of the last attempt. */
  prompt: shownPromptRecord.optional(),
});
export type ShownReceipt = Answer<z.output<typeof receiptShape>>;

export interface Receipt extends ShownReceipt {
  readonly prompt?: PromptRecord;
}
