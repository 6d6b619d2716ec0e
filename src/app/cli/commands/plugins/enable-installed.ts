import { join } from "node:path";
import type { PluginsConfig } from "../../../../plugins/config.ts";
import type { Staged } from "../../../../plugins/install/stage.ts";
import { switchOn, type ConfigSwitch } from "../../../../plugins/install/switches.ts";
import type { FoundPlugin } from "../../../../types/plugin/manifest.ts";
import { defined } from "../../../../utils/defined.ts";
import { own } from "../../../../utils/own.ts";
import { writeConfigValues } from "../../../config/edit/write.ts";
import type { FoundPlugins } from "../../../plugins/found.ts";
import { askPlugins, takenUp } from "../../ask-plugins.ts";
import { writeJson, type Io } from "../../io.ts";
import { cleanText } from "../../terminal-text.ts";
import { chooseSlots, notSelected, putBack, type Problem } from "./choose-slots.ts";
import { RESTART, type PluginState } from "./plugin-state.ts";

/** What an installation would replace; a plugin of a workspace has another place. */
export function installedAs(
  { plugins, records }: FoundPlugins,
  id: string,
): { isLink: boolean; from: string } | undefined {
  const there = plugins.find(({ manifest, origin }) => manifest.id === id && origin !== "workspace");
  const record = own(records, id);
  if (!there && !record) return undefined;
  const isLink = record?.source === "link" || there?.origin === "config";
  return { isLink, from: record?.spec ?? there?.root ?? "an unknown source" };
}

interface Installed {
  readonly staged: Staged;
  readonly flags: { readonly json?: boolean; readonly allowScripts?: boolean };
}

/**
 * Turns an installed plugin on in the config, and prints what was changed. One that is a context engine or a memory and cannot be used
 * stays off. Gives the exit code.
 */
export async function enableInstalled(io: Io, plugins: PluginState, installed: Installed): Promise<number> {
  const { state } = plugins;
  const { staged } = installed;
  const { id } = staged.facts;
  const before = state.config.plugins;
  const chosen = await chooseSlots(plugins, inPlace(plugins, staged));
  const turned = chosen.isOff ? stayOff(before, id) : switchOn(before, { id }, chosen.values);
  const { edits, lines } = joined(turned, linkOf(plugins, staged));
  await writeConfigValues(state.load, edits);
  const needsRestart =
    state.owner !== undefined &&
    installedAs(plugins.found, id) !== undefined &&
    !(await isRunning(io, plugins, staged));
  const taken = needsRestart || chosen.isOff ? undefined : await takenUp(io, state, id);
  const problem = chosen.problem ?? (taken && (await putBack(plugins, { id, values: chosen.values, taken })));
  const isKnown = taken !== undefined && lines.length === 0;
  const gateway = isKnown ? "The running gateway has this code already." : taken?.says;
  report(io, installed, { lines, needsRestart, problem, gateway });
  return problem ? 1 : 0;
}

interface Done {
  readonly lines: readonly string[];
  readonly needsRestart: boolean;
  readonly problem: Problem | undefined;
  /** What the running gateway says. */
  readonly gateway: string | undefined;
}

function report(io: Io, { staged, flags }: Installed, { lines, needsRestart, problem, gateway }: Done): void {
  const { id, version } = staged.facts;
  if (flags.json === true) {
    writeJson(io, { id, version, record: staged.record, changes: lines, needsRestart, ...defined({ problem }) });
    return;
  }
  noteScripts(io, staged, flags);
  for (const line of lines) io.out(`${line}\n`);
  io.out(`Installed plugin: ${id}\n`);
  if (problem) io.err(`${cleanText(notSelected(id, problem))}\n`);
  else if (needsRestart) io.out(`${RESTART}\n`);
  else if (gateway !== undefined) io.out(`${gateway}\n`);
}

/** What a plugin is after it was put into place. */
const inPlace = ({ store }: PluginState, { draft, plugin, facts: { id } }: Staged): FoundPlugin =>
  draft === undefined ? plugin : { ...plugin, root: join(store.extensions, id) };

/** One that was on before stays on. */
function stayOff(config: PluginsConfig, id: string): ConfigSwitch {
  if (own(config.entries, id)?.enabled !== undefined) return { edits: [], lines: [] };
  return {
    edits: [{ path: ["plugins", "entries", id, "enabled"], value: false }],
    lines: [`Set plugins.entries.${id}.enabled to false.`],
  };
}

/** Whether the gateway has run the same code since the installation before this one, so that it has nothing new to load. */
async function isRunning(io: Io, { found }: PluginState, { facts: { id }, record }: Staged): Promise<boolean> {
  const before = own(found.records, id);
  if (before?.files === undefined || before.files !== record.files || before.installedAt === undefined) return false;
  const running = (await askPlugins(io))?.records.find((one) => one.id === id);
  return running?.codeSince !== undefined && running.codeSince >= Date.parse(before.installedAt);
}

/** Native packages often need their scripts; without them they fail when they are loaded. */
function noteScripts(io: Io, { facts: { id, risks } }: Staged, { allowScripts }: Installed["flags"]): void {
  if (allowScripts === true || risks.scriptedDependencies.length === 0) return;
  const names = cleanText(risks.scriptedDependencies.join(", "));
  io.err(
    `The install scripts of ${names} did not run. If ${id} does not load, install it again with --allow-scripts.\n`,
  );
}

/** The folder of a linked plugin in the config, unless it is there. */
function linkOf({ found }: PluginState, { draft, plugin }: Staged): ConfigSwitch {
  const { loadPaths } = found;
  if (draft !== undefined || loadPaths.includes(plugin.root)) return { edits: [], lines: [] };
  return {
    edits: [{ path: ["plugins", "load", "paths", loadPaths.length], value: plugin.root }],
    lines: [`Added ${plugin.root} to plugins.load.paths.`],
  };
}

const joined = (a: ConfigSwitch, b: ConfigSwitch): ConfigSwitch => ({
  edits: [...a.edits, ...b.edits],
  lines: [...a.lines, ...b.lines],
});
