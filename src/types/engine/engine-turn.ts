import type { ChatMessage, ModelInfo, Usage } from "../run/model.ts";

/** The model of a call. */
export interface EngineModel {
  readonly model: ModelInfo;
  /** Id of the profile whose key asks it; unset for a model without a key. */
  readonly authProfile?: string;
}

/** Facts that an engine gets before a model call. */
export interface EngineAsk extends EngineModel {
  /** Messages in the transcript's order; the turn's own messages last. */
  readonly messages: readonly ChatMessage[];
  /** Where the present turn begins in `messages`. */
  readonly prePromptMessageCount: number;
  /** Tokens that the messages may fill. */
  readonly tokenBudget: number;
  /** Tokens of the whole window, as far as the config allows it; `tokenBudget` when unset. */
  readonly window?: number;
  readonly availableTools: ReadonlySet<string>;
  /** The text of the user's turn. */
  readonly prompt: string;
  readonly signal: AbortSignal;
}

export interface EngineAnswer {
  readonly messages: readonly ChatMessage[];
  readonly estimatedTokens: number;
  /** Text before the system prompt. */
  readonly systemAddition?: string;
}

export interface EngineTurnEnd extends EngineModel {
  /** The whole context of the last call and the messages after it. */
  readonly messages: readonly ChatMessage[];
  readonly prePromptMessageCount: number;
  readonly tokenBudget: number;
  /** Tokens that the last call filled of the window. */
  readonly currentTokenCount: number;
  readonly lastCallUsage?: Usage;
  /** Summary of a built-in compaction that this run made. */
  readonly autoCompactionSummary?: string;
}

export interface EngineCompaction extends EngineModel {
  readonly tokenBudget: number;
  readonly currentTokenCount?: number;
  readonly why: "asked" | "overflow";
  readonly instructions?: string;
  readonly signal: AbortSignal;
}

export type EngineCompacted =
  /** Tokens; undefined when the engine does not say. */
  | { readonly kind: "done"; readonly tokensBefore?: number; readonly tokensAfter?: number }
  | { readonly kind: "nothing"; readonly reason: string };

/**
 * The context engine's part in one run. No method rejects: an engine that throws, hangs or answers nonsense is bypassed
 * for this turn, and `degraded` says why.
 */
export interface EngineTurn {
  readonly id: string;
  /**
   * The built-in compaction is off: at overflow, after a turn and by command the engine's own runs. It stays so while the
   * engine is bypassed.
   */
  readonly ownsCompaction: boolean;
  readonly degraded: string | undefined;
  /** Called once, before the first attempt. */
  begin(signal: AbortSignal): Promise<void>;
  /** Called before the first call of an attempt. Undefined: the messages are shown as they are. */
  assemble(ask: EngineAsk): Promise<EngineAnswer | undefined>;
  /** Called before each further call of the tool loop, for owning engines only. */
  reassemble(ask: EngineAsk): Promise<EngineAnswer | undefined>;
  /**
   * Called after the run, when the transcript is on disk; `turn` is undefined when no model was asked. Maintenance
   * continues in the background.
   */
  end(turn: EngineTurnEnd | undefined): Promise<void>;
  compact(job: EngineCompaction): Promise<EngineCompacted>;
}
