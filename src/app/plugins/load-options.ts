import type { Contributions } from "../../plugins/contributions.ts";
import { pluginStore } from "../../plugins/install/store.ts";
import { repairUnlessBusy } from "../../plugins/install/swap.ts";
import { readPlaces } from "../../store/places.ts";
import { withFix } from "../../types/errors.ts";
import type { LoadOptions } from "../config/load.ts";
import type { StatePaths } from "../config/paths.ts";
import { contributedSchemas } from "../contributions/extensions.ts";
import { packageRoot } from "../package-root.ts";
import { discoverIn } from "./places.ts";
import type { Env } from "../../utils/env.ts";

/** Options with which a process reads its config: the schemas of loaded contributors, and the search for plugins. */
export async function loadOptionsFor(
  contributions: Contributions,
  paths: StatePaths,
  env: Env = process.env,
): Promise<LoadOptions> {
  return {
    path: paths.configPath,
    env,
    discover: discoverIn(paths, env),
    earlier: await readPlaces(paths.stateDir),
    ...(await contributedSchemas(contributions)),
  };
}

/**
 * Settles interrupted installations of plugins. Never rejects: resolves with a sentence for each repair, or with the
 * reason why there was none.
 */
export async function repairPlugins(paths: StatePaths, env: Env = process.env): Promise<readonly string[]> {
  try {
    return await repairUnlessBusy(pluginStore(paths, packageRoot, env));
  } catch (error) {
    return [`The installed plugins could not be checked: ${withFix(error)}`];
  }
}
