import type { ImageLoader } from "../history/images/load.ts";
import type { PruneMemory } from "../history/prune-memory.ts";
import type { Budgets } from "../types/spend/budgets.ts";
import type { Models } from "../providers/catalog.ts";
import type { UntrustedKeeping } from "../types/run/untrusted.ts";
import type { ProfileWish } from "../types/auth.ts";
import type { Clock } from "../types/clock.ts";
import type { EngineCompacted, EngineCompaction, EngineTurn } from "../types/engine/engine-turn.ts";
import type { HookRunner } from "../types/hook/hooks.ts";
import type { Texts } from "../types/journal.ts";
import type { AgentInternalEvent } from "../types/engine/internal-event.ts";
import type { Log } from "../types/log.ts";
import type {
  ImageContent,
  InputProvenance,
  ModelInfo,
  ModelRef,
  ThinkLevel,
  ToolResultMessage,
} from "../types/run/model.ts";
import type { SentFiles } from "../types/chat/sent-files.ts";
import type { AnswerWish } from "../types/chat/client-ask.ts";
import type { RemovedTool } from "../types/tool-policy.ts";
import type { Failure, PromptPart, RunFacts, SideCost } from "../types/run/run.ts";
import type { Session, SessionNote } from "../types/session.ts";
import type { AgentSettings } from "../types/settings.ts";
import type { ApprovalDesk, FixedCall, Tool } from "../types/run/tool.ts";

/** The part of a session that a run needs; the conversation of a one-shot request is in memory. */
export type Conversation = Pick<Session, "window" | "after" | "append" | "leafId"> & {
  /** Absolute path of the transcript. */
  readonly file?: string | undefined;
};

/** The user's turn. Its id comes from the inbox row, so that a later process finds the turn again. */
export interface UserTurn {
  readonly entryId: string;
  readonly text: string;
  readonly images: readonly ImageContent[];
  /** The files of the turn, which are noted with it for its readers. */
  readonly sent?: SentFiles;
  readonly at: number;
  /** The results of calls that the client made, which come before the text. The turn is these alone when it has no text. */
  readonly results?: readonly ToolResultMessage[];
  /** The parts of the text. */
  readonly parts?: readonly PromptPart[];
  /** The events that the turn was made from. */
  readonly events?: readonly AgentInternalEvent[];
  /** The origin of the text; unset where it is not known. */
  readonly provenance?: InputProvenance;
  /**
   * The note that later runs see in place of the turn, when the turn joins a run and the transcript does not keep its
   * text.
   */
  readonly note?: SessionNote;
}

/** The system prompt with its parts. */
export interface SystemPrompt {
  readonly text: string;
  readonly parts: readonly PromptPart[];
}

/** The run, as its context engine may use it. */
export interface EngineHost {
  /** Aborted when the run no longer waits for the engine. */
  readonly signal: AbortSignal;
  /** Called for each model call of the engine, also after the run. */
  spent(cost: SideCost): void;
  /** The built-in compaction. */
  compact(job: EngineCompaction): Promise<EngineCompacted>;
}

/** The models that a run may ask. */
export interface ModelChoice {
  /** The models, in the order in which they are tried. */
  readonly candidates: readonly ModelRef[];
  /** The first candidate of the conversation's previous run; unset when it is not known. */
  readonly askedBefore?: ModelRef | undefined;
  /** Keys that the session prefers, or that its user pinned. */
  readonly keys?: ProfileWish;
  /** How they are to answer; as the config says when unset. */
  readonly wish?: AnswerWish;
  /** Why none of the models is to be asked; found out before the run began. */
  readonly unusable?: Failure;
}

/** The tools of a run. */
interface OfferedTools {
  readonly tools: readonly Tool[];
  /** The tools that a model may use; all when unset. */
  toolsOn?(model: ModelInfo): readonly Tool[];
  /**
   * Why a tool that a model calls is not among the tools; undefined for a tool that does not exist. No tool was removed
   * when unset.
   */
  removed?(name: string, model?: ModelInfo): RemovedTool | undefined;
}

export interface RunRequest extends OfferedTools {
  readonly facts: RunFacts;
  readonly settings: AgentSettings;
  readonly conversation: Conversation;
  readonly turn: UserTurn;
  readonly choice: ModelChoice;
  readonly thinking: ThinkLevel;
  readonly timeoutMs: number;
  /** The system prompt. Called once per attempt, since the prompt names the model and the tools that the model has. */
  systemPrompt(model: ModelInfo, tools: readonly Tool[]): Promise<SystemPrompt>;
  /**
   * Opens the context engine; models see the conversation as it is without an engine. Rejects when the engine is not
   * available.
   */
  openEngine?(host: EngineHost): Promise<EngineTurn>;
  /** The place where the conversation keeps that it has read untrusted content; none when unset. */
  readonly untrusted?: UntrustedKeeping;
  /** The call whose result is the answer; models are asked when unset. */
  readonly call?: FixedCall;
  /** The channel, for hooks. */
  readonly channel?: string;
}

export interface RunWaits {
  /**
   * Resolves when the turn's claim is on the disk and all text before a tool call is queued for delivery. Rejects as
   * `stored`.
   */
  beforeTool(callId: string): Promise<void>;
  /**
   * Resolves when the outcomes that the journal has are on the disk. Called after the run, before an engine takes the
   * turn in and before the conversation is compacted: after a power cut the journal would otherwise resume a turn that
   * is not found any more. Rejects with `OpenClawError` DISK_FULL or DISK_WRITE.
   */
  stored(): Promise<void>;
}

/** What a run works with. Required, also where it may be undefined: a caller cannot forget what protects. */
export interface RunDeps {
  readonly budgets: Pick<Budgets, "refusedIn" | "allow">;
  readonly models: Models;
  readonly approvals: ApprovalDesk;
  readonly log: Log;
  readonly clock: Clock;
  readonly hooks: HookRunner | undefined;
  /** Keeps the prompts that models saw; none are kept when unset. */
  readonly texts: Texts | undefined;
  /** Shows models the images that turns mention; only images in the transcript when unset. */
  readonly images: ImageLoader | undefined;
  /** The gateway's own files and directories, which no model is shown. */
  readonly closedPaths: readonly string[];
  /** The writes that the run waits for; none when unset. */
  readonly waits?: RunWaits;
  /** Called for each model call after `run_end`, which is in no receipt of the run. Must not throw. */
  spentAfterEnd?(cost: SideCost): void;
  /** Prunes old tool results; none are pruned when unset. */
  readonly pruned: PruneMemory | undefined;
}
