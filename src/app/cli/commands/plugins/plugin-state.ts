import { homedir } from "node:os";
import { activationOf, type Activation } from "../../../../plugins/found/activation.ts";
import { pluginStore, type PluginStore } from "../../../../plugins/install/store.ts";
import type { FoundPlugin } from "../../../../types/plugin/manifest.ts";
import { triedEngines, type LeftOutPlugin } from "../../../../plugins/trial/trials.ts";
import { own } from "../../../../utils/own.ts";
import { OpenClawError, withFix } from "../../../../types/errors.ts";
import { Live } from "../../../live.ts";
import { loadConfig } from "../../../config/load.ts";
import { nearest } from "../../../config/keys/nearest.ts";
import { packageRoot } from "../../../package-root.ts";
import { findPlugins, type FoundPlugins } from "../../../plugins/found.ts";
import { askPlugins } from "../../ask-plugins.ts";
import type { Io } from "../../io.ts";
import { readState, type State } from "../../state.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";

/** The parts that the commands on plugins work with. */
export interface PluginCommandState {
  readonly state: State;
  readonly store: PluginStore;
  readonly found: FoundPlugins;
  readonly where: { readonly cwd: string; readonly home: string };
}

export async function readPluginState(io: Io): Promise<PluginCommandState> {
  const state = await readState(io);
  const home = io.env["HOME"] ?? homedir();
  return {
    state,
    store: pluginStore(state.paths, packageRoot, io.env),
    found: await findPlugins(state.paths, io.env),
    where: { cwd: process.cwd(), home },
  };
}

/** The same where the config must be valid; throws its problem. */
export async function requirePluginState(io: Io): Promise<PluginCommandState> {
  const read = await readPluginState(io);
  if (read.state.problem) throw read.state.problem;
  return read;
}

/** The plugins and the config in this process, which has loaded no plugin. */
export async function liveOf({ state, where }: PluginCommandState): Promise<Live> {
  return new Live(state.paths, where.home, await loadConfig(state.load), state.contributions);
}

/**
 * The context engines that a plugin registers, as far as a trial or the running gateway knows. The plugin may be broken,
 * or gone. An error of the gateway is printed.
 */
export async function pluginEngines(io: Io, { state }: PluginCommandState, id: string): Promise<readonly string[]> {
  const tried = own(await triedEngines(state.paths), id);
  if (tried) return tried;
  const told = await askPlugins(io).catch((error: unknown) => {
    const why = error instanceof OpenClawError ? withFix(error) : `${errorText(error)}.`;
    // A gateway that cannot be asked is no reason to keep a plugin.
    const said = `The running gateway did not say which context engines ${id} has: ${why}`;
    const fix =
      "If plugins.slots.contextEngine names one of them, run: openclaw config unset plugins.slots.contextEngine";
    io.err(`${withoutTerminalControls(`${said} ${fix}`)}\n`);
    return undefined;
  });
  return told?.records.find((one) => one.id === id)?.added?.["engines"] ?? [];
}

/** Printed when a gateway runs, which keeps code that it has loaded. */
export const RESTART = "Restart the gateway to load the new version.";

/** Whether a plugin is loaded, as `plugins list` shows it. */
export interface PluginRow {
  readonly id: string;
  readonly name?: string;
  readonly version?: string;
  readonly origin: string;
  readonly state: "enabled" | "disabled" | "broken";
  /** Why it is not loaded, without a full stop. */
  readonly reason?: string;
  /** The step that mends the problem, as a sentence. */
  readonly fix?: string;
  readonly root: string;
  /** Where it was installed from. */
  readonly source?: string;
}

/** One row for each plugin and each folder that should be one. */
export function pluginRows({ state, found }: PluginCommandState): readonly PluginRow[] {
  const source = (id: string) => {
    const record = Object.hasOwn(found.records, id) ? found.records[id] : undefined;
    return record && { source: `${record.source}: ${record.spec ?? "unknown"}` };
  };
  const plugins = found.plugins.map((plugin) => ({
    ...rowOf(plugin, state, found.leftOut.get(plugin.manifest.id)),
    ...source(plugin.manifest.id),
  }));
  const broken = found.broken.map(({ id, origin, root, why }): PluginRow => ({
    id,
    origin,
    state: "broken",
    reason: why,
    root,
    ...source(id),
  }));
  return [...plugins, ...broken].toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

function rowOf(plugin: FoundPlugin, { config }: State, leftOut: LeftOutPlugin | undefined): PluginRow {
  const { manifest, package: pack, origin, root } = plugin;
  const activation = activationOf(plugin, config.plugins);
  const version = pack.version ?? manifest.version;
  return {
    id: manifest.id,
    ...(manifest.name !== undefined && { name: manifest.name }),
    ...(version !== undefined && { version }),
    origin,
    ...stateBy(activation, leftOut),
    root,
  };
}

function stateBy(
  activation: Activation,
  leftOut: LeftOutPlugin | undefined,
): Pick<PluginRow, "state" | "reason" | "fix"> {
  if (!activation.isOn) return { state: "disabled", reason: activation.reason };
  if (leftOut) return { state: "broken", reason: leftOut.why, fix: leftOut.fix };
  return { state: "enabled" };
}

/** The plugin with this id, or an id that it had before. Throws `NOT_FOUND`. */
export function requirePlugin({ found }: PluginCommandState, id: string): FoundPlugin {
  const plugin =
    found.plugins.find(({ manifest }) => manifest.id === id) ??
    found.plugins.find(({ manifest }) => manifest.legacyIds.includes(id));
  if (plugin) return plugin;
  const broken = found.broken.find((one) => one.id === id);
  if (broken)
    throw new OpenClawError("PLUGIN_INVALID", {
      message: `${id} cannot be used: ${broken.why}.`,
      fix: `Correct it in ${broken.root}, or remove it: openclaw plugins uninstall ${id}`,
    });
  throw noPlugin({ found }, id);
}

export function noPlugin({ found }: Pick<PluginCommandState, "found">, id: string): OpenClawError {
  const near = nearest(id, [...found.plugins.map(({ manifest }) => manifest.id), ...Object.keys(found.records)]);
  return new OpenClawError("NOT_FOUND", {
    message: `There is no plugin ${id}.`,
    fix: near === undefined ? "openclaw plugins list shows the plugins." : `Did you mean ${near}?`,
  });
}
