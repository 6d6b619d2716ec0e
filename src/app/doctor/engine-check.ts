import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { engineChecks, type Latest, type RunningEngine } from "../../history/engines/checks.ts";
import { LEGACY } from "../../history/engines/open-engine.ts";
import { LATEST_RUNS } from "../../history/engines/turn/skipped-runs.ts";
import { engineSettings } from "../../history/engines/settings.ts";
import { openJournalToRead } from "../../store/journal/read-only.ts";
import { pluginStateDir } from "../../plugins/state-dir.ts";
import { unlessMissing } from "../../utils/missing.ts";
import type { Check } from "../../types/check.ts";
import { systemClock } from "../../types/clock.ts";
import { contributedEngines } from "../compose/engines.ts";
import type { LoadedPlugins } from "../plugins/loaded-plugins.ts";
import type { LoadedPlugin } from "../plugins/loaded-problems.ts";
import { PLUGINS_MS } from "./plugins-check.ts";

/** Checks the selected context engine. `journal`: the path where the latest runs are read. */
export function enginesOf(plugins: LoadedPlugins, journal: string): readonly Check[] {
  const { config, defaultAgent, contributions, paths } = plugins.live;
  const { stateDir } = paths;
  const { id, timeouts } = engineSettings(config.plugins);
  const context = { config, agentDir: defaultAgent.workspace, workspaceDir: defaultAgent.workspace };
  const opening = { engines: contributedEngines(contributions), context, clock: systemClock, ms: timeouts.bootstrap };
  const owner = async () => (id === LEGACY ? undefined : ownerIn(id, await plugins.view(), stateDir));
  return engineChecks(id, opening, { latest: latestIn(journal), owner }).map((check) => ({
    ...check,
    timeoutMs: PLUGINS_MS + timeouts.bootstrap + timeouts.dispose,
  }));
}

/** The plugin that has added the engine. One of an extension has none. */
async function ownerIn(
  id: string,
  { records, isGateway }: Awaited<ReturnType<LoadedPlugins["view"]>>,
  stateDir: string,
): Promise<RunningEngine | undefined> {
  const owner = records.find(({ added }) => added?.["engines"]?.includes(id)) ?? records.find((one) => one.id === id);
  if (!owner) return undefined;
  const store = await storeIn(pluginStateDir(stateDir, owner.id));
  return { ...factsOf(owner), isRunning: isGateway && owner.state === "loaded", ...(store && { store }) };
}

/** The size of a folder; undefined when it does not exist or has no files. */
async function storeIn(path: string): Promise<RunningEngine["store"]> {
  const entries = await unlessMissing(readdir(path, { recursive: true, withFileTypes: true }));
  const files = (entries ?? []).filter((entry) => entry.isFile());
  if (files.length === 0) return undefined;
  const sizes = await Promise.all(files.map(({ parentPath, name }) => unlessMissing(stat(join(parentPath, name)))));
  return { path, bytes: sizes.reduce((sum, facts) => sum + (facts?.size ?? 0), 0) };
}

const factsOf = ({ id, root, version, why, cost }: LoadedPlugin) => ({
  plugin: id,
  ...(root !== undefined && { root }),
  ...(version !== undefined && { version }),
  ...(why !== undefined && { why }),
  ...(cost?.lastError !== undefined && { failed: cost.failed, calls: cost.calls, lastError: cost.lastError }),
});

/** A check does not create a journal. */
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
