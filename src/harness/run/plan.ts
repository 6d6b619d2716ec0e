import type { PruneMemory } from "../../history/prune-memory.ts";
import type { ModelHandle } from "../../providers/catalog.ts";
import type { TranscriptPolicy } from "../../providers/quirks.ts";
import type { EngineTurn } from "../../types/engine/engine-turn.ts";
import type { Texts } from "../../types/journal.ts";
import type { ChatMessage, ModelRef, ThinkLevel } from "../../types/run/model.ts";
import type { RunLog } from "../log/run-log.ts";
import type { RefusedRequests } from "../failover/refused.ts";
import type { LoopGuard } from "../tools/loops/guard.ts";
import type { Steering } from "./steering.ts";
import type { ToolSetting } from "../tools/tools.ts";

/** The plan of one attempt. */
export interface Attempt {
  readonly number: number;
  readonly handle: ModelHandle;
  /** The requested level; once the attempt has begun, the model's nearest one. */
  readonly thinking: ThinkLevel;
  /** The images that the model is shown: those of the whole conversation, only those of the present turn, or none. */
  readonly images: "all" | "of_turn" | "none";
  /** Why images are left out, for the model. */
  readonly whyNoImages?: string | undefined;
  /** Whether tool blocks and thinking become plain text, for a provider that refused the conversation. */
  readonly strict: boolean;
  /** Whether large tool results are cut. */
  readonly truncate: boolean;
  /**
   * Tokens of the window that requests are cut to after a refusal that showed no limit; nothing else follows from this
   * figure.
   */
  readonly mostTokens?: number | undefined;
  /** The most tokens that the answer may have, after a provider refused more; the model's own limit when unset. */
  readonly maxOutput?: number | undefined;
  /** The first part of an answer that this attempt continues; usually empty. */
  readonly carried: string;
  readonly signal: AbortSignal;
}

/** The parts that all attempts of one run share. */
export interface RunParts {
  readonly log: RunLog;
  readonly setting: ToolSetting;
  readonly steering: Steering;
  readonly guard: LoopGuard;
  readonly context: ContextPorts;
  /** Called after each answer and each tool result. */
  progressed(): void;
}

/** The ports by which the context of an attempt's model is made. */
export interface ContextPorts {
  readonly log: RunLog;
  readonly engine: EngineTurn | undefined;
  readonly texts?: Texts | undefined;
  readonly pruned?: PruneMemory | undefined;
  /** The requests of this run that were refused. */
  readonly refused: RefusedRequests;
  now(): number;
  /** The messages with the images that they mention. Never rejects. */
  withImages(messages: readonly ChatMessage[], policy: TranscriptPolicy): Promise<readonly ChatMessage[]>;
  /**
   * Summarises the turns that do not fit the model's window. False when nothing was summarised, or when that is not for
   * this model to decide.
   */
  compactBeforeAnswer(handle: ModelHandle): Promise<boolean>;
  /** Called before a model is shown the conversation. */
  shown(what: Shown): Promise<void>;
}

/** How full a model's window is before the model is asked. */
export interface Shown {
  readonly handle: ModelHandle;
  /** Estimated tokens, with the system prompt and the tools. */
  readonly tokens: number;
  /** Tokens of the system prompt and the tools. */
  readonly fixed: number;
  /** Whether a context engine assembled the conversation. Then the engine's estimate counts. */
  readonly isByEngine: boolean;
  /** The id of the last entry that is shown. */
  readonly lastId: string | undefined;
  /** Whether older turns did not fit. */
  readonly isCut: boolean;
  /** The model of the newest answer that is shown. */
  readonly lastModel: ModelRef | undefined;
  /** Tokens that the conversation may fill. */
  readonly budget: number;
  /** The number of messages before the present turn. */
  readonly before: number;
  /** Tokens of the model's whole window. */
  readonly window: number;
  /** The conversation as the transcript has it, with the messages since. */
  messages(): readonly ChatMessage[];
}
