import type { EngineFor } from "../../dispatch/ports.ts";
import { complete, type CompletionPorts } from "../../harness/complete.ts";
import type { EngineHost, RunRequest } from "../../harness/request.ts";
import { CacheWatch } from "../../history/engines/cache-watch.ts";
import { CompactionDesk } from "../../history/engines/compaction-desk.ts";
import { LEGACY, openEngine } from "../../history/engines/open-engine.ts";
import { EngineCooldowns } from "../../history/engines/engine-cooldowns.ts";
import { engineSettings } from "../../history/engines/settings.ts";
import { openEngineTurn } from "../../history/engines/turn/turn.ts";
import { engineAbsence } from "../../plugins/found/absence.ts";
import { shownConfig } from "../config/shown.ts";
import { readCompletion } from "../../plugins/api/llm.ts";
import { setPluginHost } from "../../plugins/host-slot.ts";
import type { Models } from "../../providers/catalog.ts";
import { type Rewrite, type Rewritten, rewriteEntries } from "../../sessions/transcript/rewrite.ts";
import { keyNames } from "../../sessions/shown/wire-keys.ts";
import type { Clock } from "../../types/clock.ts";
import type {
  ContextEngines,
  LlmCompletion,
  LlmCompletionRequest,
  ContextEngine,
} from "../../types/engine/context-engine.ts";
import type { EngineTurn } from "../../types/engine/engine-turn.ts";
import type { Log } from "../../types/log.ts";
import type { Session, Sessions } from "../../types/session.ts";
import { KeyedQueue } from "../../utils/keyed-queue.ts";
import { own } from "../../utils/own.ts";
import { allowedModels, requireSameAgent } from "./allowed-models.ts";
import { chatOf } from "../../sessions/chat-of.ts";
import { citationsIn, pluginScene, type Live } from "../live.ts";
import type { EngineSpawns } from "../../automation/spawn/ports.ts";
import { bounded } from "../../history/engines/bounded.ts";
import { background } from "../../utils/background.ts";
import { errorText } from "../../utils/text/error-text.ts";

/** Milliseconds of silence after which a model call for an engine has stalled. */
const IDLE_MS = 120_000;

interface EngineParts {
  readonly live: Live;
  readonly models: Models;
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly log: Log;
}

/** The context engines of this gateway, and the services that they may call. */
export class Engines {
  readonly #desk = new CompactionDesk();
  readonly #background = new KeyedQueue();
  readonly #stopping = new AbortController();
  readonly #cache = new CacheWatch();
  readonly #cooldowns: EngineCooldowns;
  readonly #parts: EngineParts;
  readonly #takeBack: () => void;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    this.#cooldowns = new EngineCooldowns(parts.clock);
    const { contributions } = parts.live;
    contributions.reserve("engines", [LEGACY]);
    this.#takeBack = setPluginHost({
      keys: keyNames(() => parts.live.defaultAgent.id),
      compact: (params) => this.#desk.compact(params),
      memoryPrompt: (request) =>
        contributions.memoryPrompt({ citationsMode: parts.live.config.memory.citations, ...request }),
      hooksOf: (name) => contributions.handlersOf(name),
      commandNames: () => contributions.commands.flatMap(({ name, aliases = [] }) => [name, ...aliases]),
      config: () => shownConfig(parts.live.config),
    });
  }

  /** The function that opens the selected engine for a run; undefined for the built-in one. */
  openerFor(ask: EngineFor): RunRequest["openEngine"] {
    const { id } = engineSettings(this.#parts.live.config.plugins);
    return id === LEGACY ? undefined : (host) => this.#open(ask, host);
  }

  /** The selected engine's methods for subagents. */
  get spawns(): EngineSpawns {
    const { live, clock, log } = this.#parts;
    const engines = enginesIn(live);
    return engineSpawns({ live, clock, log, engines, config: () => shownConfig(live.config) });
  }

  /** Ends the maintenance that runs after turns. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#background.idle();
    this.#takeBack();
  }

  async #open({ session, agent, candidates, turnKey, isHeartbeat }: EngineFor, host: EngineHost): Promise<EngineTurn> {
    const { live, sessions, clock, log } = this.#parts;
    // The engine's plugin may just be replaced by the same plugin with other settings.
    await live.contributions.settled();
    // The slot is read after the wait: the engine that it named before may be gone.
    const { id, timeouts } = engineSettings(live.config.plugins);
    const modelCalls = this.#modelCalls({ session, agent, candidates }, host, id);
    let isHeld = true;
    const chat = chatOf(session.key, session.entry, live.defaultAgent.id);
    const citationsMode = citationsIn(live.config, chat);
    // A copy without secrets: an engine may keep and change the copy. The engine's plugin has its own settings.
    const config = shownConfig(live.config);
    const turn = await openEngineTurn(
      {
        id,
        timeouts,
        factory: { config, agentDir: agent.workspace, workspaceDir: agent.workspace },
        session: {
          sessionId: session.id,
          sessionKey: session.key,
          sessionFile: session.file,
          agentId: agent.id,
          workspace: agent.workspace,
        },
        turn: { key: turnKey, ...(isHeartbeat === true && { isHeartbeat }), citationsMode },
        signal: host.signal,
      },
      {
        engines: enginesIn(live),
        services: {
          complete: modelCalls,
          compact: (job) => host.compact(job),
          rewriteTranscriptEntries: (request) =>
            isHeld ? rewriteEntries(session, request) : rewriteLater(sessions, session, request),
          facts: { config },
        },
        background: this.#background,
        stopping: this.#stopping.signal,
        desk: this.#desk,
        cache: this.#cache,
        cooldowns: this.#cooldowns,
        clock,
        log: log.with({ session: session.key, engine: id }),
      },
    );
    // After the turn the session belongs to the next one.
    return new Ending(turn, () => (isHeld = false));
  }

  /** The model calls of an engine in its session. */
  #modelCalls(
    { session, agent, candidates }: Pick<EngineFor, "session" | "agent" | "candidates">,
    host: EngineHost,
    engine: string,
  ): (request: LlmCompletionRequest) => Promise<LlmCompletion> {
    const { live, models } = this.#parts;
    const plugin = live.contributions.engineOwner(engine);
    const origin = { cause: "engine" as const, agentId: session.agentId, sessionKey: session.key };
    const ports: Omit<CompletionPorts, "candidates"> = {
      models: models.of(session.agentId),
      idleMs: agent.idleTimeoutMs ?? IDLE_MS,
      origin: { ...origin, ...(plugin !== undefined && { plugin }) },
      spent: (cost) => host.spent(cost),
    };
    return async (given) => {
      const { model, agentId, ...request } = readCompletion(given);
      requireSameAgent(agent.id, agentId);
      const llm = own(live.config.plugins.entries, plugin ?? engine)?.llm ?? { allowModelOverride: false };
      const allowed = allowedModels(candidates, { plugin: plugin ?? engine, what: "llm", grant: llm, model });
      return complete({ ...request, agentId: agent.id }, { ...ports, candidates: allowed });
    };
  }
}

/** The engines that contributors have added. `whyMissing` gives the reason why an engine is not there. */
export const enginesIn = (live: Pick<Live, "contributions" | "loaded">): ContextEngines => ({
  get(id) {
    const factory = live.contributions.contextEngine(id);
    return factory && Promise.resolve(factory);
  },
  whyMissing: (id) => engineAbsence(pluginScene(live), id),
});

/** The turn of an engine, with a callback at its end. */
class Ending implements EngineTurn {
  readonly id: string;
  readonly begin: EngineTurn["begin"];
  readonly assemble: EngineTurn["assemble"];
  readonly reassemble: EngineTurn["reassemble"];
  readonly compact: EngineTurn["compact"];
  readonly end: EngineTurn["end"];
  readonly #turn: EngineTurn;

  constructor(turn: EngineTurn, ended: () => void) {
    this.#turn = turn;
    this.id = turn.id;
    this.begin = (signal) => turn.begin(signal);
    this.assemble = (ask) => turn.assemble(ask);
    this.reassemble = (ask) => turn.reassemble(ask);
    this.compact = (job) => turn.compact(job);
    this.end = (news) => turn.end(news).finally(ended);
  }

  get ownsCompaction(): boolean {
    return this.#turn.ownsCompaction;
  }

  get degraded(): string | undefined {
    return this.#turn.degraded;
  }
}

/** Rewrites entries when the session is free again, if it still has the same conversation. */
async function rewriteLater(sessions: Sessions, { key, id }: Session, request: Rewrite): Promise<Rewritten> {
  const session = await sessions.acquire(key);
  try {
    if (session.id === id) return await rewriteEntries(session, request);
    return { changed: false, bytesFreed: 0, rewrittenEntries: 0, reason: "the conversation began anew" };
  } finally {
    session.release();
  }
}

interface Sources {
  readonly live: Live;
  readonly clock: Clock;
  readonly log: Log;
  readonly engines: ContextEngines;
  /** The config as a copy without secrets. */
  config(): unknown;
}

/**
 * The selected context engine's methods for subagents; the built-in engine has none. `prepare` rejects when the engine
 * fails, `ended` never does.
 */
function engineSpawns({ live, clock, log, engines, config }: Sources): EngineSpawns {
  const call = async <T>(method: (engine: ContextEngine) => T | Promise<T>): Promise<T | undefined> => {
    const { id, timeouts } = engineSettings(live.config.plugins);
    if (id === LEGACY) return undefined;
    const { workspace } = live.defaultAgent;
    const context = { config: config(), agentDir: workspace, workspaceDir: workspace };
    const engine = await openEngine(id, { engines, context, clock, ms: timeouts.bootstrap, log });
    const done = await bounded(() => method(engine), { clock, ms: timeouts.bootstrap });
    const released = bounded(() => engine.dispose?.(), { clock, ms: timeouts.dispose });
    background("end of an engine", released);
    if (done.kind === "ok") return done.value;
    throw new Error(`the context engine "${id}" failed: ${done.kind === "aborted" ? "aborted" : done.why}`);
  };
  return {
    prepare: async (params) => call((engine) => engine.prepareSubagentSpawn?.(params)),
    async ended(params) {
      try {
        await call((engine) => engine.onSubagentEnded?.(params));
      } catch (error) {
        const why = errorText(error);
        log.warn("context engine failed", { code: "ENGINE_FAILED", method: "onSubagentEnded", why });
      }
    },
  };
}
