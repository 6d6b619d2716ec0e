import { loadConfig, type LoadedConfig } from "../../config/load.ts";
import type { StatePaths } from "../../config/paths.ts";
import { applyEnv } from "../../config/env-vars.ts";
import { bundledContributions } from "../../contributions/extensions.ts";
import type { Contributions } from "../../../plugins/contributions.ts";
import { loadOptionsFor } from "../../plugins/load-options.ts";

/** The config, and what it was read with. */
export interface Prepared {
  readonly contributions: Contributions;
  readonly loaded: LoadedConfig;
  load(): Promise<LoadedConfig>;
}

/** Reads the config and sets the variables that it has. Throws `OpenClawError`. */
export async function prepare(paths: StatePaths): Promise<Prepared> {
  const contributions = bundledContributions();
  const load = async () => loadConfig(await loadOptionsFor(contributions, paths));
  const loaded = await load();
  applyEnv(loaded.config, process.env);
  return { contributions, load, loaded };
}
