import { dirname, join, resolve } from "node:path";
import { discoverPlugins, type Discovered } from "../../plugins/found/discover.ts";
import { parseRecords, readRecords } from "../../plugins/install/records.ts";
import { recordsFile } from "../../plugins/install/store.ts";
import type { InstallRecords } from "../../types/plugin/install-record.ts";
import { BUNDLED } from "../contributions/bundled.ts";
import { readConfigText, type LoadOptions } from "../config/load.ts";
import { parseConfigText } from "../config/parse.ts";
import type { StatePaths } from "../config/paths.ts";
import { valueAt } from "../config/problem.ts";
import type { Config } from "../config/schema.ts";
import { expandHome } from "../config/secrets.ts";
import { resolveAgents } from "../config/settings.ts";

interface Where {
  readonly paths: StatePaths;
  readonly config: Config;
  readonly load: LoadOptions;
  readonly home: string;
}

/** All plugins of a state directory, and what is known of how they came there. */
export interface FoundPlugins extends Discovered {
  readonly records: InstallRecords;
  /** `plugins.load.paths`, absolute, in the order of the config. */
  readonly loadPaths: readonly string[];
}

/** Ids of the bundled extensions, which no plugin can replace. */
export const bundledIds: ReadonlySet<string> = new Set([...BUNDLED.map(({ id }) => id), "webchat"]);

/** Finds plugins where the config says, without running their code. Throws `PLUGIN_INVALID` for broken records. */
export async function findPlugins(where: Where): Promise<FoundPlugins> {
  const { paths, config, home } = where;
  const records = { ...(await configRecords(where)), ...(await readRecords(recordsFile(paths))) };
  const loadPaths = config.plugins.load.paths.map((path) =>
    resolve(dirname(paths.configPath), expandHome(path, where.load.env)),
  );
  const agents = resolveAgents(config, { home, stateDir: paths.stateDir });
  const workspaceDirs = [...new Set(agents.map(({ workspace }) => join(workspace, ".openclaw", "extensions")))];
  const installedIds = new Set(Object.keys(records));
  const found = await discoverPlugins({
    loadPaths,
    workspaceDirs,
    globalDir: paths.extensions,
    installedIds,
    bundledIds,
  });
  return { ...found, records, loadPaths };
}

/** `plugins.installs` of configs that older versions wrote. A file that cannot be read is reported by whoever loads it. */
async function configRecords({ load }: Where): Promise<InstallRecords> {
  try {
    const text = (await readConfigText(load.path)) ?? "";
    return text.trim() === "" ? {} : parseRecords(valueAt(parseConfigText(text, load.path), ["plugins", "installs"]));
  } catch {
    return {};
  }
}
