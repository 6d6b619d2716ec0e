import type { AgentInternalEvent } from "./internal-event.ts";
import type { ChatMessage, InputProvenance } from "../run/model.ts";

export type AgentMessage = ChatMessage;

/** The capabilities of this host; an engine that requires another one is not run. */
export const HOST_CAPABILITIES = [
  "bootstrap",
  "assemble-before-prompt",
  "after-turn",
  "maintain",
  "compact",
  "runtime-llm-complete",
] as const;

export interface HostRequirement {
  requiredCapabilities: string[];
  /** Text that the operator sees when a requirement is missing. */
  unsupportedMessage?: string;
}

export interface ContextEngineInfo {
  /** The id under which the engine is registered. */
  id: string;
  name: string;
  version?: string;
  /** The built-in compaction stays off; `compact` is the only one. */
  ownsCompaction?: boolean;
  /** `foreground`: the turn waits for `maintain`. */
  turnMaintenanceMode?: "foreground" | "background";
  hostRequirements?: {
    "agent-run"?: HostRequirement;
    "manual-compact"?: HostRequirement;
    /** Ignored: no subagent is refused because of this requirement. */
    "subagent-spawn"?: HostRequirement;
  };
  acceptedHostParams?: string[];
  /** Set by engines for which `commitTurn` is called as well. */
  transcriptSemantics?: { currentTurnFence: string; turnAdvancementIdempotency: string };
}

/** A model call in the session's name. Rejects as the provider fails. */
export interface LlmCompletionRequest {
  messages: { role: string; content: string }[];
  systemPrompt?: string;
  maxTokens?: number;
  temperature?: number;
  /** Purpose of the call, for logs and receipts. */
  purpose?: string;
  /** `provider/model`; the agent's own when unset. */
  model?: string;
  agentId?: string;
  signal?: AbortSignal;
  [more: string]: unknown;
}
export interface LlmCompletion {
  text: string;
  provider: string;
  model: string;
  agentId?: string;
  /** Tokens. */
  usage?: { input?: number; output?: number; cacheRead?: number; cacheWrite?: number; total?: number };
  [more: string]: unknown;
}

export interface TranscriptRewrite {
  replacements: { entryId: string; message: AgentMessage }[];
  /** Entries after a replaced one that may be appended anew under it; any when unset. */
  allowedRewriteSuffixEntryIds?: string[];
}
export interface TranscriptRewriteResult {
  changed: boolean;
  bytesFreed: number;
  rewrittenEntries: number;
  reason?: string;
}

export interface PromptCacheFacts {
  retention?: "none" | "short" | "long" | "in_memory" | "24h";
  lastCallUsage?: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
  observation?: {
    broke: boolean;
    previousCacheRead?: number;
    cacheRead?: number;
    changes?: {
      code: "cacheRetention" | "model" | "streamStrategy" | "systemPrompt" | "tools" | "transport";
      detail: string;
    }[];
  };
  /** Epoch milliseconds. */
  lastCacheTouchAt?: number;
  expiresAt?: number;
}

/** Facts and services of the host; an open record: more members may come. */
export interface ContextEngineRuntimeContext {
  cwd?: string;
  agentHarnessId?: string;
  sessionKey?: string;
  agentId?: string;
  provider?: string;
  model?: string;
  /** Tokens. */
  tokenBudget?: number;
  currentTokenCount?: number;
  /** Set for the maintenance after a turn, which may take its time. */
  allowDeferredCompactionExecution?: boolean;
  /** Reason for the call: `manual`, `overflow`, … */
  trigger?: string;
  promptCache?: PromptCacheFacts;
  usage?: PromptCacheFacts["lastCallUsage"];
  abortSignal?: AbortSignal;
  llm?: { complete(request: LlmCompletionRequest): Promise<LlmCompletion> };
  rewriteTranscriptEntries?(request: TranscriptRewrite): Promise<TranscriptRewriteResult>;
  [more: string]: unknown;
}

export interface ContextEngineRuntimeSettings {
  executionHost: { id: string };
}

/** Fields of every call that is about one session. */
interface OfSession {
  sessionId: string;
  sessionKey?: string;
  runtimeSettings?: ContextEngineRuntimeSettings;
}
interface OfTranscript extends OfSession {
  /** Absolute path of the JSONL transcript. */
  sessionFile: string;
  runtimeContext?: ContextEngineRuntimeContext;
}

export type BootstrapParams = OfTranscript;
export interface BootstrapResult {
  bootstrapped: boolean;
  importedMessages?: number;
  reason?: string;
}

export type MaintainParams = OfTranscript;
export type MaintainResult = TranscriptRewriteResult;

export interface IngestParams extends OfSession {
  message: AgentMessage;
  isHeartbeat?: boolean;
}
export interface IngestResult {
  ingested: boolean;
}
export interface IngestBatchParams extends OfSession {
  messages: AgentMessage[];
  isHeartbeat?: boolean;
}
export interface IngestBatchResult {
  ingestedCount: number;
}

export interface AssembleParams extends OfSession {
  /** Copies of messages in the transcript's order; the present turn's own messages come last. */
  messages: AgentMessage[];
  /** Tokens that the answer's messages may fill. */
  tokenBudget?: number;
  availableTools?: Set<string>;
  citationsMode?: string;
  model?: string;
  /** The text of the user's turn; absent between the calls of a tool loop. */
  prompt?: string;
  /** Where the present turn begins in `messages`. */
  prePromptMessageCount?: number;
  /** Origins of the messages by index; as long as `messages`. Undefined: the origin is unknown. */
  inputProvenance?: readonly (InputProvenance | undefined)[];
  /** Events that each message was made from, by index; as long as `messages`. */
  internalEvents?: readonly (readonly AgentInternalEvent[] | undefined)[];
  /** Tokens of `messages`, estimated. */
  currentTokenCount?: number;
  runtimeContext?: ContextEngineRuntimeContext;
}
export interface AssembleResult {
  messages: AgentMessage[];
  estimatedTokens: number;
  /** Text before the system prompt. */
  systemPromptAddition?: string;
  promptAuthority?: "assembled" | "preassembly_may_overflow";
  contextProjection?: { mode: "per_turn" | "thread_bootstrap"; epoch?: string | number; fingerprint?: string };
}

export interface AfterTurnParams extends OfTranscript {
  messages: AgentMessage[];
  /** Messages from here on are new to the engine. */
  prePromptMessageCount: number;
  autoCompactionSummary?: string;
  isHeartbeat?: boolean;
  tokenBudget?: number;
  currentTokenCount?: number;
}

export interface CompactParams extends OfTranscript {
  tokenBudget?: number;
  force?: boolean;
  forceReason?: "manual" | "preflight_required";
  preflightCompactionTrigger?: "tokens" | "transcript_bytes";
  currentTokenCount?: number;
  compactionTarget?: "budget" | "threshold";
  customInstructions?: string;
  abortSignal?: AbortSignal;
}
export interface CompactResult {
  ok: boolean;
  compacted: boolean;
  reason?: string;
  result?: {
    summary?: string;
    firstKeptEntryId?: string;
    tokensBefore: number;
    tokensAfter?: number;
    details?: unknown;
    sessionId?: string;
    sessionFile?: string;
  };
}

export interface SubagentSpawnParams {
  parentSessionKey: string;
  childSessionKey: string;
  contextMode?: "isolated" | "fork";
  parentSessionId?: string;
  parentSessionFile?: string;
  childSessionId?: string;
  childSessionFile?: string;
  ttlMs?: number;
}
export interface SubagentSpawnPreparation {
  /** Called when the spawn fails after all. */
  rollback(): void | Promise<void>;
}
export interface SubagentEndedParams {
  childSessionKey: string;
  reason: "deleted" | "completed" | "swept" | "released";
}

export interface CommitTurnParams extends OfTranscript {
  /** The same for one turn, however often the engine gets it. */
  advancementKey: string;
  /** The turn's own messages. */
  messages: AgentMessage[];
  prePromptMessageCount?: number;
  isHeartbeat?: boolean;
}
export interface CommitTurnResult {
  status: "committed" | "duplicate";
}

/**
 * Decides which part of a conversation the model sees. The engine may keep and change its parameters, which are copies.
 * The host limits the time of every call; after an error or an invalid answer in `bootstrap` or `assemble` the turn
 * continues without the engine.
 */
export interface ContextEngine {
  readonly info: ContextEngineInfo;
  /** Called before the first attempt of every run whose transcript file exists. */
  bootstrap?(params: BootstrapParams): Promise<BootstrapResult>;
  /** Called after `bootstrap`, and after every turn. */
  maintain?(params: MaintainParams): Promise<MaintainResult>;
  ingest(params: IngestParams): Promise<IngestResult>;
  ingestBatch?(params: IngestBatchParams): Promise<IngestBatchResult>;
  assemble(params: AssembleParams): Promise<AssembleResult>;
  /**
   * Called after every run, when the transcript is on disk; for an owning engine also before each further call of a
   * tool loop.
   */
  afterTurn?(params: AfterTurnParams): Promise<void>;
  compact(params: CompactParams): Promise<CompactResult>;
  prepareSubagentSpawn?(params: SubagentSpawnParams): Promise<SubagentSpawnPreparation | undefined>;
  onSubagentEnded?(params: SubagentEndedParams): Promise<void>;
  commitTurn?(params: CommitTurnParams): Promise<CommitTurnResult>;
  /** Called after every run. */
  dispose?(): Promise<void> | void;
}

export interface ContextEngineFactoryContext {
  config?: unknown;
  agentDir?: string;
  workspaceDir?: string;
}
/** Called for every run; may give the same engine each time. */
export type ContextEngineFactory = (context: ContextEngineFactoryContext) => ContextEngine | Promise<ContextEngine>;

/** The registered engines. A promise that rejects: the engine is registered but could not be loaded. */
export interface ContextEngines {
  get(id: string): Promise<ContextEngineFactory> | undefined;
  /** Why there is no such engine, as half a sentence; undefined when the reason is unknown. */
  whyMissing(id: string): string | undefined;
}
