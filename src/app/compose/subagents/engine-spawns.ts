import type { EngineSpawns } from "../../../automation/spawn/ports.ts";
import { bounded } from "../../../history/engines/bounded.ts";
import { LEGACY, openEngine } from "../../../history/engines/open-engine.ts";
import { engineSettings } from "../../../history/engines/settings.ts";
import type { Clock } from "../../../types/clock.ts";
import type { ContextEngine, ContextEngines } from "../../../types/engine/context-engine.ts";
import type { Log } from "../../../types/log.ts";
import { background } from "../../../utils/background.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import type { Live } from "../live.ts";

interface Sources {
  readonly live: Live;
  readonly clock: Clock;
  readonly log: Log;
  readonly engines: ContextEngines;
  /** A copy without secrets. */
  config(): unknown;
}

/** The selected context engine's part in subagents. The built-in one has none. */
export function engineSpawns({ live, clock, log, engines, config }: Sources): EngineSpawns {
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
