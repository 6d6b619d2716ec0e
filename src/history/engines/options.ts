import type { Clock } from "../../types/clock.ts";
import type {
  ContextEngineFactoryContext,
  ContextEngines,
  LlmCompletion,
  LlmCompletionRequest,
  TranscriptRewrite,
  TranscriptRewriteResult,
} from "../../types/engine/context-engine.ts";
import type { EngineCompacted, EngineCompaction } from "../../types/engine/engine-turn.ts";
import type { Log } from "../../types/log.ts";
import type { KeyedQueue } from "../../utils/keyed-queue.ts";
import type { CacheWatch } from "./cache-watch.ts";
import type { CompactionDesk } from "./compaction-desk.ts";
import type { EngineCooldowns } from "./engine-cooldowns.ts";
import type { EngineTimeouts } from "./settings.ts";

/** The session of a run. */
export interface EngineSession {
  readonly sessionId: string;
  readonly sessionKey: string;
  /** Absolute path of the transcript; the file need not exist yet. */
  readonly sessionFile: string;
  readonly agentId: string;
  /** Absolute path. */
  readonly workspace: string;
}

/** The turn that a run is about. */
export interface EngineTurnFacts {
  /** The id of the user's entry. It is the same whenever an engine gets this turn, also after a crash. */
  readonly key: string;
  readonly isHeartbeat?: boolean;
  /** Whether answers name the notes that support them; `auto` when unset. */
  readonly citationsMode?: string;
}

/** The services of the gateway for an engine. */
export interface EngineServices {
  /** Calls a model in the agent's name. Rejects as the provider does. */
  complete(request: LlmCompletionRequest): Promise<LlmCompletion>;
  /** The built-in compaction of this session. */
  compact(job: EngineCompaction): Promise<EngineCompacted>;
  rewriteTranscriptEntries?(request: TranscriptRewrite): Promise<TranscriptRewriteResult>;
  /** More members of `runtimeContext`, such as `config`. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

/** The engine of a run, and facts about the run. */
export interface EngineJob {
  /** `plugins.slots.contextEngine` */
  readonly id: string;
  readonly timeouts: EngineTimeouts;
  readonly factory?: ContextEngineFactoryContext;
  readonly session: EngineSession;
  readonly turn: EngineTurnFacts;
  /** Aborts the opening of the engine when nobody waits for it any longer. */
  readonly signal?: AbortSignal;
}

/** Parts of the gateway for an engine's turn. */
export interface EnginePorts {
  readonly engines: ContextEngines;
  readonly services: EngineServices;
  /** Maintenance after a turn, one at a time for each session. The gateway waits for it when it stops. */
  readonly background: KeyedQueue;
  /** Ends that maintenance early, so that the gateway can stop. */
  readonly stopping?: AbortSignal;
  readonly desk: CompactionDesk;
  /** Cache reads that the provider reported in earlier turns. Without them the engine gets no such figures. */
  readonly cache?: CacheWatch;
  /** Cooldowns of engines that hung recently. Without them, each turn waits for its own engine. */
  readonly cooldowns?: EngineCooldowns;
  readonly clock: Clock;
  readonly log: Log;
}
