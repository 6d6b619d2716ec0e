import { existsSync } from "node:fs";
import { engineChecks, type Latest, type RunningEngine } from "../../history/engines/checks.ts";
import { LEGACY } from "../../history/engines/open-engine.ts";
import { LATEST_RUNS } from "../../history/engines/turn/skipped-runs.ts";
import { engineSettings } from "../../history/engines/settings.ts";
import { openJournalToRead } from "../../store/journal/read-only.ts";
import type { Check } from "../../types/check.ts";
import { systemClock } from "../../types/clock.ts";
import { contributedEngines } from "../compose/engines.ts";
import type { LoadedPlugins } from "../plugins/loaded-plugins.ts";
import type { LoadedPlugin } from "../plugins/loaded-problems.ts";
import { PLUGINS_MS } from "./plugins-check.ts";

/** Checks the selected context engine. `journal`: the path where the latest runs are read. */
export function enginesOf(plugins: LoadedPlugins, journal: string): readonly Check[] {
  const { config, defaultAgent, contributions } = plugins.live;
  const { id, timeouts } = engineSettings(config.plugins);
  const context = { config, agentDir: defaultAgent.workspace, workspaceDir: defaultAgent.workspace };
  const opening = { engines: contributedEngines(contributions), context, clock: systemClock, ms: timeouts.bootstrap };
  const owner = async () => (id === LEGACY ? undefined : ownerIn(id, await plugins.view()));
  return engineChecks(id, opening, { latest: latestIn(journal), owner }).map((check) => ({
    ...check,
    timeoutMs: PLUGINS_MS + timeouts.bootstrap + timeouts.dispose,
  }));
}

/** The plugin that has added the engine. One of an extension has none. */
function ownerIn(
  id: string,
  { records, isGateway }: Awaited<ReturnType<LoadedPlugins["view"]>>,
): RunningEngine | undefined {
  const owner = records.find(({ added }) => added?.["engines"]?.includes(id)) ?? records.find((one) => one.id === id);
  return owner && { ...factsOf(owner), isRunning: isGateway && owner.state === "loaded" };
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
