import type { Discovered } from "../../plugins/found/discover.ts";
import { readCrashes, type Crash } from "../../plugins/trial/crashes.ts";
import { leftOutOf, type LeftOutPlugin } from "../../plugins/trial/trials.ts";
import type { InstallRecords } from "../../types/plugin/install-record.ts";
import { readConfigSource } from "../config/source.ts";
import type { StatePaths } from "../config/paths.ts";
import { discoverIn, loadPathsIn, recordsIn } from "./places.ts";
import type { Env } from "../../utils/env.ts";

/** All plugins of a state directory, with the records of their installation. */
export interface FoundPlugins extends Discovered {
  readonly records: InstallRecords;
  /** `plugins.load.paths`, absolute, in the order of the config. */
  readonly loadPaths: readonly string[];
  /** Plugins whose code would stop the gateway, by id: the gateway does not run them. */
  readonly leftOut: ReadonlyMap<string, LeftOutPlugin>;
  /** Ends of the gateway by plugins in the last 24 hours, the oldest first. */
  readonly crashes: readonly Crash[];
}

/** Finds plugins where the config says, without running their code. Throws `PLUGIN_INVALID` for broken records. */
export async function findPlugins(paths: StatePaths, env: Env): Promise<FoundPlugins> {
  const input = await rawConfig(paths);
  const records = await recordsIn(input, paths);
  const found = await discoverIn(paths, env)(input);
  return {
    ...found,
    records,
    loadPaths: loadPathsIn(input, paths, env),
    leftOut: await leftOutOf(paths, found.plugins),
    crashes: await readCrashes(paths),
  };
}

/** The config as it is written; empty when it cannot be read: the caller that loads the config reports the problem. */
async function rawConfig({ configPath }: StatePaths): Promise<unknown> {
  try {
    return (await readConfigSource({ path: configPath })).value;
  } catch {
    return {};
  }
}
