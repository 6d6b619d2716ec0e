import { join } from "node:path";
import { exists } from "../../../utils/exists.ts";
import type { Live } from "../../compose/live.ts";

/**
 * Why channels must stay off: another program used this state directory before, and trying this gateway out must not take
 * over a running bot. Undefined once adopted, or when the directory is ours.
 */
export async function isForeign(live: Live): Promise<string | undefined> {
  const { config, loaded, paths } = live;
  if (config.gateway.adopt) return undefined;
  const wasTouched = loaded.warnings.some(({ key }) => key === "meta" || key.startsWith("meta."));
  const hasAgents = await exists(join(paths.stateDir, "agents"));
  if (!wasTouched && !hasAgents) return undefined;
  return "another program keeps this state directory; run `openclaw onboard --adopt` to take over its channels";
}
