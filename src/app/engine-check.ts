import { engineChecks } from "../history/engines/checks.ts";
import { EngineRegistry } from "../history/engines/registry.ts";
import { engineSettings } from "../history/engines/settings.ts";
import type { Check } from "../types/check.ts";
import { systemClock } from "../types/clock.ts";
import type { Config } from "./config/schema.ts";

/** Plugins bring engines; only the built-in one is there without them. */
export function enginesOf({ plugins }: Config): readonly Check[] {
  const { id, timeouts } = engineSettings(plugins);
  const engines = new EngineRegistry();
  return engineChecks(id, { engines, context: {}, clock: systemClock, ms: timeouts.bootstrap });
}
