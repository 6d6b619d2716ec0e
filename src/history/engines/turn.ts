import type { EngineCompacted, EngineCompaction, EngineTurn } from "../../types/engine-turn.ts";
import { DrivenTurn } from "./driven-turn.ts";
import { LEGACY, openEngine } from "./open-engine.ts";
import type { EngineTurnOptions } from "./options.ts";

/**
 * The selected engine's part in one run. Rejects with ENGINE_MISSING or ENGINE_UNUSABLE when it cannot be had. Whoever opens
 * one calls `end` on it, whatever became of the run: the engine is let go there.
 */
export async function openEngineTurn(options: EngineTurnOptions): Promise<EngineTurn> {
  if (options.id === LEGACY) return new LegacyTurn(options.services.compact);
  const { engines, clock, timeouts, factory: context = {} } = options;
  const engine = await openEngine(options.id, { engines, context, clock, ms: timeouts.bootstrap });
  return new DrivenTurn(engine, options);
}

/** Nothing is copied, nothing is waited for. */
class LegacyTurn implements EngineTurn {
  readonly id = LEGACY;
  readonly ownsCompaction = false;
  readonly degraded = undefined;
  readonly compact: (job: EngineCompaction) => Promise<EngineCompacted>;

  constructor(compact: (job: EngineCompaction) => Promise<EngineCompacted>) {
    this.compact = compact;
  }

  begin = nothing;
  assemble = nothing;
  reassemble = nothing;
  end = nothing;
}

const nothing = async (): Promise<undefined> => undefined;
