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
import type { AgentInternalEvent } from "../../types/engine/internal-event.ts";
import type { Log } from "../../types/log.ts";
import type { KeyedQueue } from "../../utils/keyed-queue.ts";
import type { CacheWatch } from "./cache-watch.ts";
import type { CompactionDesk } from "./compaction/compaction-desk.ts";
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
  /** The same whenever an engine gets this turn, also after a crash: the id of the user's entry. */
  readonly key: string;
  readonly isHeartbeat?: boolean;
  /** The events that the user message of this turn was made from. */
  readonly events?: readonly AgentInternalEvent[];
}

/** The services of the gateway for an engine. */
export interface EngineServices {
  /** A model call in the agent's name. Rejects as the provider fails. */
  complete(request: LlmCompletionRequest): Promise<LlmCompletion>;
  /** The built-in compaction of this session. */
  compact(job: EngineCompaction): Promise<EngineCompacted>;
  rewriteTranscriptEntries?(request: TranscriptRewrite): Promise<TranscriptRewriteResult>;
  /** More members of `runtimeContext`, such as `config`. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

/** The engine's part in one run: which engine, and what the run is about. */
export interface EngineJob {
  /** `plugins.slots.contextEngine` */
  readonly id: string;
  readonly timeouts: EngineTimeouts;
  readonly factory?: ContextEngineFactoryContext;
  readonly session: EngineSession;
  readonly turn: EngineTurnFacts;
  /** Ends the opening of the engine: nobody waits for it any longer. */
  readonly signal?: AbortSignal;
}

/** What the engine's part may use of the gateway. */
export interface EnginePorts {
  readonly engines: ContextEngines;
  readonly services: EngineServices;
  /** Maintenance after a turn: one at a time per session. Waited for when the gateway stops. */
  readonly background: KeyedQueue;
  /** Ends that maintenance early, so that a stop of the gateway need not wait for it. */
  readonly stopping?: AbortSignal;
  readonly desk: CompactionDesk;
  /** What the provider's cache gave in the turns before; the engine is not told of it without one. */
  readonly cache?: CacheWatch;
  /** Which engines hung recently; each turn waits for its own without one. */
  readonly cooldowns?: EngineCooldowns;
  readonly clock: Clock;
  readonly log: Log;
}
