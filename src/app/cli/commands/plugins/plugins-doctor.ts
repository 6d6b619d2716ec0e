import { writeJson, type Io } from "../../io.ts";
import { withProgress } from "../../progress.ts";
import { cleanText } from "../../terminal-text.ts";
import { repairUnlessBusy } from "../../../../plugins/install/swap.ts";
import { checkPlugins, type PluginProblem } from "../../../plugins/check-plugins.ts";
import { readPluginState } from "./plugin-state.ts";

/** Reports what keeps plugins from working; repairs what an interrupted installation left. 1 when something fails. */
export async function pluginsDoctor(io: Io, flags: { readonly json?: boolean }): Promise<number> {
  const { store } = await readPluginState(io);
  const repaired = await repairUnlessBusy(store);
  const { found, state } = await readPluginState(io);
  const problems = await withProgress(io, "Looking", checkPlugins(found, { config: state.config.plugins, store }));
  if (flags.json === true) writeJson(io, { plugins: found.plugins.length, repaired, problems });
  else print(io, found.plugins.length, { repaired, problems });
  return problems.some(({ severity }) => severity === "fail") ? 1 : 0;
}

interface Result {
  readonly repaired: readonly string[];
  readonly problems: readonly PluginProblem[];
}

function print(io: Io, count: number, { repaired, problems }: Result): void {
  for (const line of repaired) io.out(`repaired: ${cleanText(line)}\n`);
  for (const { severity, id, message, fix } of problems) {
    io.out(`${severity}: ${cleanText(id)}: ${cleanText(message)}\n`);
    io.out(`  fix: ${cleanText(fix)}\n`);
  }
  if (problems.length === 0) io.out(`No problems with ${count === 1 ? "1 plugin" : `${count} plugins`}.\n`);
}
