import type { Staged } from "../../../../plugins/install/stage.ts";
import { keptOffBy, switchOn, type ConfigSwitch } from "../../../../plugins/install/switches.ts";
import { own } from "../../../../utils/own.ts";
import { writeConfigValues } from "../../../config/edit/write.ts";
import type { FoundPlugins } from "../../../plugins/found.ts";
import { askPlugins } from "../../ask-plugins.ts";
import { writeJson, type Io } from "../../io.ts";
import { cleanText } from "../../terminal-text.ts";
import { FOLLOWS, RESTART, type PluginState } from "./plugin-state.ts";

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

/** Turns an installed plugin on in the config, and prints what was changed. */
export async function enableInstalled(io: Io, plugins: PluginState, { staged, flags }: Installed): Promise<void> {
  const { state } = plugins;
  const { id, version } = staged.facts;
  const change = joined(switchOn(state.config.plugins, staged.plugin.manifest), linkOf(plugins, staged));
  await writeConfigValues(state.load, change.edits);
  const needsRestart =
    state.owner !== undefined &&
    installedAs(plugins.found, id) !== undefined &&
    !(await isRunning(io, plugins, staged));
  const off = keptOffBy(state.config.plugins, id);
  if (off !== undefined) io.err(`${off}\n`);
  if (flags.json === true) {
    writeJson(io, { id, version, record: staged.record, changes: change.lines, needsRestart });
    return;
  }
  noteScripts(io, staged, flags);
  for (const line of change.lines) io.out(`${line}\n`);
  io.out(`Installed plugin: ${id}\n`);
  if (!state.owner) return;
  if (needsRestart) io.out(`${RESTART}\n`);
  else io.out(change.lines.length === 0 ? "The running gateway has this code already.\n" : `${FOLLOWS}\n`);
}

/** Whether the gateway has run the same code since the installation before this one, so that it has nothing new to load. */
async function isRunning(io: Io, { found }: PluginState, { facts: { id }, record }: Staged): Promise<boolean> {
  const before = own(found.records, id);
  if (before?.files === undefined || before.files !== record.files || before.installedAt === undefined) return false;
  const running = (await askPlugins(io))?.find((one) => one.id === id);
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
