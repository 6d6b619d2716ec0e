import type { EngineTurn } from "../../../types/engine/engine-turn.ts";
import { BuiltInTurn } from "./built-in-turn.ts";
import { PluginEngineTurn } from "./plugin-engine-turn.ts";
import { LEGACY, openEngine } from "../open-engine.ts";
import type { EngineJob, EnginePorts } from "../options.ts";

/**
 * The selected engine's part in one run. Rejects with ENGINE_MISSING or ENGINE_UNUSABLE when it cannot be used. The caller must
 * call `end`, however the run ended: it releases the engine.
 */
export async function openEngineTurn(job: EngineJob, ports: EnginePorts): Promise<EngineTurn> {
  const { id, timeouts, factory: context = {}, signal } = job;
  const { engines, clock, cooldowns, services, log } = ports;
  if (id === LEGACY) return new BuiltInTurn(LEGACY, services.compact);
  const resting = cooldowns?.claim(id, timeouts.bootstrap + timeouts.assemble);
  if (resting) {
    const why = `it hung before and is in cooldown until ${new Date(resting.until).toISOString()}`;
    log.info("context engine skipped in this turn", { code: "ENGINE_DEGRADED", engine: id, why });
    const degraded = `The context engine ${id} was skipped: ${why}`;
    return new BuiltInTurn(id, services.compact, { degraded, ownsCompaction: resting.ownsCompaction });
  }
  const engine = await openEngine(id, { engines, context, clock, ms: timeouts.bootstrap, signal, log });
  return new PluginEngineTurn(engine, job, ports);
}
