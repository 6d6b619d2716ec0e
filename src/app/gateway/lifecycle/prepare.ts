import type { Contributions } from "../../../plugins/contributions.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { applyEnv } from "../../config/env-vars.ts";
import { loadConfig, type LoadedConfig } from "../../config/load.ts";
import type { StatePaths } from "../../config/paths.ts";
import { bundledContributions } from "../../contributions/extensions.ts";
import { loadOptionsFor } from "../../plugins/load-options.ts";

/** What one start is made of. */
export interface Prepared {
  readonly contributions: Contributions;
  readonly loaded: LoadedConfig;
  load(): Promise<LoadedConfig>;
  /** What the log is to say first. */
  readonly notes: readonly string[];
}

/** With the config of the file, or with a known one. */
export async function prepare(paths: StatePaths, known?: LoadedConfig, note?: string): Promise<Prepared> {
  const contributions = bundledContributions();
  const options = () => loadOptionsFor(contributions, paths);
  const load = async () => loadConfig(await options());
  // The options also load the schemas by which contributions read their part of the config.
  if (known) await options();
  const loaded = known ?? (await load());
  applyEnv(loaded.config, process.env);
  return { contributions, load, loaded, notes: note === undefined ? [] : [note] };
}

/** For a restart: a config that cannot be read gives way to the one before. */
export async function prepareAgain(paths: StatePaths, before: LoadedConfig): Promise<Prepared> {
  try {
    return await prepare(paths);
  } catch (error) {
    return prepare(paths, before, `the config cannot be read, and the one before is used: ${errorText(error)}`);
  }
}
