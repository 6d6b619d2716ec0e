import { dirname, join, resolve } from "node:path";
import { discoverPlugins, type Discovered } from "../../plugins/found/discover.ts";
import { parseRecords, readRecords } from "../../plugins/install/records.ts";
import { triedEngines } from "../../plugins/trial/trials.ts";
import { recordsFile } from "../../plugins/install/store.ts";
import type { InstallRecords } from "../../types/plugin/install-record.ts";
import { BUNDLED_IDS } from "../contributions/extensions.ts";
import type { StatePaths } from "../config/paths.ts";
import { listedAgents } from "../config/keys/agent-key.ts";
import { valueAt } from "../config/schema/problem.ts";
import { expandHome, type Env } from "../../utils/env.ts";

/** Finds the plugins of a state directory by the content of its config, which need not be valid. */
export const discoverIn =
  (paths: StatePaths, env: Env) =>
  async (input: unknown): Promise<Discovered> =>
    discoverPlugins({
      loadPaths: loadPathsIn(input, paths, env),
      workspaceDirs: workspacesIn(input, paths, env).map((dir) => join(dir, ".openclaw", "extensions")),
      globalDir: paths.extensions,
      installedIds: new Set(Object.keys(await recordsIn(input, paths).catch(() => ({})))),
      bundledIds: BUNDLED_IDS,
      engines: await triedEngines(paths),
    });

/** `plugins.load.paths` of a config as absolute paths; relative ones begin at the folder of the config file. */
export const loadPathsIn = (input: unknown, { configPath }: StatePaths, env: Env): readonly string[] =>
  textsAt(input, ["plugins", "load", "paths"]).map((path) => resolve(dirname(configPath), expandHome(path, env)));

/**
 * The install records of plugins, also those of older versions, which wrote them into the config. Throws
 * `PLUGIN_INVALID`.
 */
export async function recordsIn(input: unknown, paths: StatePaths): Promise<InstallRecords> {
  return { ...parseRecords(valueAt(input, ["plugins", "installs"])), ...(await readRecords(recordsFile(paths))) };
}

function workspacesIn(input: unknown, paths: StatePaths, env: Env): readonly string[] {
  const listed = listedAgents(input).map(({ entry }) => valueAt(entry, ["workspace"]));
  const named = [valueAt(input, ["agents", "defaults", "workspace"]), ...listed].filter(
    (path): path is string => typeof path === "string" && path !== "",
  );
  return [...new Set([paths.workspace, ...named.map((path) => resolve(paths.stateDir, expandHome(path, env)))])];
}

function textsAt(input: unknown, path: readonly string[]): readonly string[] {
  const list = valueAt(input, path);
  return Array.isArray(list) ? list.filter((item): item is string => typeof item === "string" && item !== "") : [];
}
