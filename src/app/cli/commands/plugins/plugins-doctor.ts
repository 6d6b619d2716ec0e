import { homedir } from "node:os";
import { writeJson, type Io } from "../../io.ts";
import { withProgress } from "../../progress.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { repairUnlessBusy } from "../../../../plugins/install/swap.ts";
import { checkPlugins, type PluginCheckProblem } from "../../../plugins/check-plugins.ts";
import { loadConfig } from "../../../config/load.ts";
import { withLoaded } from "../../../doctor/plugins-check.ts";
import { LoadedPlugins } from "../../../plugins/loaded-plugins.ts";
import { loadedProblems } from "../../../plugins/loaded-problems.ts";
import { askPlugins } from "../../ask-plugins.ts";
import type { State } from "../../state.ts";
import { readPluginState } from "./plugin-state.ts";

/** Reports what keeps plugins from working; repairs what an interrupted installation left. 1 when something fails. */
export async function pluginsDoctor(io: Io, flags: { readonly json?: boolean }): Promise<number> {
  const { store } = await readPluginState(io);
  const repaired = await repairUnlessBusy(store);
  const { found, state } = await readPluginState(io);
  const look = checkPlugins(found, { config: state.config.plugins, store });
  const problems = withLoaded(await withProgress(io, "Looking", look), await problemsInUse(io, state));
  if (flags.json === true) writeJson(io, { plugins: found.plugins.length, repaired, problems });
  else print(io, found.plugins.length, { repaired, problems });
  return problems.some(({ severity }) => severity === "fail") ? 1 : 0;
}

/** Problems that show only when the plugins are loaded; none with an invalid config, which loads no plugin. */
async function problemsInUse(
  io: Io,
  { load, paths, contributions, problem }: State,
): Promise<readonly PluginCheckProblem[]> {
  if (problem) return [];
  const home = io.env["HOME"] ?? homedir();
  const loaded = await loadConfig(load);
  const plugins = new LoadedPlugins({ paths, home, loaded, contributions, ask: () => askPlugins(io) });
  try {
    return loadedProblems(await plugins.view());
  } finally {
    await plugins.close();
  }
}

interface Result {
  readonly repaired: readonly string[];
  readonly problems: readonly PluginCheckProblem[];
}

function print(io: Io, count: number, { repaired, problems }: Result): void {
  for (const line of repaired) io.out(`repaired: ${withoutTerminalControls(line)}\n`);
  for (const { severity, id, message, fix } of problems) {
    io.out(`${severity}: ${withoutTerminalControls(id)}: ${withoutTerminalControls(message)}\n`);
    io.out(`  fix: ${withoutTerminalControls(fix)}\n`);
  }
  if (problems.length === 0) io.out(`No problems with ${count === 1 ? "1 plugin" : `${count} plugins`}.\n`);
}
