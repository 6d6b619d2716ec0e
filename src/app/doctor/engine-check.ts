import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { engineChecks, type EngineOwner, type Latest, type SelectedEngine } from "../../history/engines/checks.ts";
import { LEGACY } from "../../history/engines/open-engine.ts";
import { LATEST_RUNS } from "../../history/engines/skipped-runs.ts";
import { engineSettings } from "../../history/engines/settings.ts";
import { openJournalToRead } from "../../store/journal/read-only.ts";
import { pluginStateDir } from "../../plugins/state-dir.ts";
import { unlessMissing } from "../../utils/missing.ts";
import type { Check } from "../../types/check.ts";
import type { LoadedPlugins } from "../plugins/loaded-plugins.ts";
import type { LoadedPlugin } from "../../types/answers/plugins.ts";
import type { PluginView } from "../plugins/loaded-problems.ts";
import { PLUGINS_MS } from "./plugins-check.ts";

/** Checks the selected context engine. `journal` is the path where the latest runs are read. */
export function selectedEngineChecks(plugins: LoadedPlugins, journal: string): readonly Check[] {
  const { config, paths } = plugins.live;
  const { id, timeouts } = engineSettings(config.plugins);
  const look = async () => (id === LEGACY ? undefined : lookAt(id, await plugins.view(), paths.stateDir));
  return engineChecks(id, { latest: latestIn(journal), look }).map((check) => ({
    ...check,
    timeoutMs: PLUGINS_MS + timeouts.bootstrap + timeouts.dispose,
  }));
}

/**
 * The selected engine with the plugin that added it, and the reason why it cannot be used. An engine of an extension
 * has no plugin.
 */
async function lookAt(
  id: string,
  { records, faults, isGateway }: PluginView,
  stateDir: string,
): Promise<SelectedEngine> {
  const fault = faults.find(({ kind }) => kind === "engine");
  const owner =
    records.find(({ added }) => added?.["engines"]?.includes(id)) ?? records.find((one) => one.id === fault?.plugin);
  const store = owner && (await storeIn(pluginStateDir(stateDir, owner.id)));
  return {
    isGateway,
    ...(fault && { fault }),
    ...(owner && { owner: { ...factsOf(owner), ...(store && { store }) } }),
  };
}

/** The size of a folder; undefined when it does not exist or has no files. */
async function storeIn(path: string): Promise<EngineOwner["store"]> {
  const entries = await unlessMissing(readdir(path, { recursive: true, withFileTypes: true }));
  const files = (entries ?? []).filter((entry) => entry.isFile());
  if (files.length === 0) return undefined;
  const sizes = await Promise.all(files.map(({ parentPath, name }) => unlessMissing(stat(join(parentPath, name)))));
  return { path, bytes: sizes.reduce((sum, facts) => sum + (facts?.size ?? 0), 0) };
}

const factsOf = ({ id, root, version, cost }: LoadedPlugin) => ({
  plugin: id,
  ...(root !== undefined && { root }),
  ...(version !== undefined && { version }),
  ...(cost?.lastError !== undefined && { failed: cost.failed, calls: cost.calls, lastError: cost.lastError }),
});

/** The latest runs in the journal; none when there is no journal: a check does not create one. */
const latestIn =
  (path: string): Latest =>
  async () => {
    if (!existsSync(path)) return [];
    const journal = await openJournalToRead(path);
    try {
      return await journal.runs.recent(LATEST_RUNS);
    } finally {
      await journal.close();
    }
  };
