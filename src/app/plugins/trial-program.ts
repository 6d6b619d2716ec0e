import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pluginsConfig, type PluginsConfig } from "../../plugins/config.ts";
import { trialOf } from "../../plugins/trial/guard.ts";
import { leftOut, putTrials, pluginStamp } from "../../plugins/trial/trials.ts";
import { runTrials, type TrialProgram, type TrialResult } from "../../plugins/trial/run-trials.ts";
import type { FoundPlugin } from "../../types/plugin/manifest.ts";
import { own } from "../../utils/own.ts";
import type { Live } from "../live.ts";
import { openLog } from "../log/log.ts";
import { packageRoot } from "../package-root.ts";
import { PluginVariables } from "./plugin-variables.ts";
import { settingsFor, shownForPlugin } from "./shown-for-plugin.ts";

/** Input of the process that tries plugins. Its secrets are those that the plugins get anyway. */
export interface TrialJob {
  readonly plugins: readonly FoundPlugin[];
  readonly config: PluginsConfig;
  /** The config as each plugin sees it, by its id. */
  readonly shown: Readonly<Record<string, unknown>>;
  readonly stateDir: string;
  readonly workspace: string;
  /** Milliseconds to open an engine. When unset, plugins and their engines are not tested for use. */
  readonly engineMs?: number;
  /** Milliseconds after which the process ends itself. */
  readonly lifeMs: number;
}

interface Tried {
  readonly id: string;
  readonly found: FoundPlugin;
}

/** Runs plugins in a process of their own, as the gateway would. Rejects when there can be no such process. */
export function tryPlugins(plugins: readonly FoundPlugin[], live: Live): Promise<ReadonlyMap<string, TrialResult>> {
  return runTrials(plugins.map(triedAs), programOf(live, live.coming.config.plugins));
}

/** Milliseconds that the gateway waits for the code of a plugin and for its registration, and some more. */
const LOADING_MS = 45_000;
const LIMITS = { startMs: 30_000, pluginMs: 10_000 };

/**
 * Tries plugins as if each were enabled and selected, to find out whether it can be loaded and its engines can be used.
 * The results about a plugin's code are remembered, unless the plugin is tried in a place where it will not stay.
 */
export async function judgePlugins(
  plugins: readonly FoundPlugin[],
  live: Live,
  isToBeRemembered = true,
): Promise<readonly TrialVerdict[]> {
  const stamps = await Promise.all(plugins.map(pluginStamp));
  const config = live.config.plugins;
  const engineMs = config.contextEngineTimeoutSeconds.bootstrap * 1000;
  const results = new Map<string, TrialResult>();
  for (const plugin of plugins) {
    const asked = programOf(live, selecting(plugin, config), engineMs);
    // Each plugin is tried alone: there is one memory, and a plugin may have several engines that hang.
    const waitingMs = LOADING_MS + engineMs * MOST_ENGINES;
    for (const [id, result] of await runTrials([triedAs(plugin)], asked, { ...LIMITS, waitingMs }))
      results.set(id, result);
  }
  const tried = plugins.flatMap((plugin, at) => {
    const result = results.get(plugin.manifest.id);
    const stamp = stamps[at];
    return result && stamp !== undefined ? [{ plugin, stamp, result }] : [];
  });
  const trials = tried.map(
    ({ plugin, stamp, result }) => [plugin.manifest.id, trialOf(plugin, stamp, result)] as const,
  );
  if (isToBeRemembered) await putTrials(live.paths, Object.fromEntries(trials));
  return tried.map(({ plugin, result }) => verdictOf(plugin, result));
}

/** Most engines of one plugin that are waited for. */
const MOST_ENGINES = 3;

/** Results of the trial of a plugin. */
export interface TrialVerdict {
  readonly plugin: FoundPlugin;
  readonly engines: readonly string[];
  /** Whether the plugin registered anything of a memory. */
  readonly isMemory: boolean;
  /** The reason why the plugin cannot be loaded, as half a sentence. */
  readonly problem?: { readonly why: string; readonly fix?: string | undefined };
  /** Engines that the plugin registers and that cannot be used; `why` is a sentence. */
  readonly unusable: readonly { readonly id: string; readonly why: string; readonly fix: string }[];
}

function verdictOf(plugin: FoundPlugin, result: TrialResult): TrialVerdict {
  const { report } = result;
  if (report) {
    const { engines, problem, unusable = [], isMemory = false } = report;
    return { plugin, engines, isMemory, unusable, ...(problem && { problem }) };
  }
  const { why, fix } = leftOut(plugin.manifest.id, { ...result, at: "" });
  return { plugin, engines: [], isMemory: false, unusable: [], problem: { why, fix } };
}

/** The config with the plugin enabled and selected, whatever else is on. */
function selecting({ manifest: { id } }: FoundPlugin, config: PluginsConfig): PluginsConfig {
  const entry = own(config.entries, id) ?? pluginsConfig.parse({ entries: { [id]: {} } }).entries[id];
  const entries = { ...config.entries, ...(entry && { [id]: { ...entry, enabled: true } }) };
  return { ...config, enabled: true, allow: [], deny: [], slots: { ...config.slots, memory: id }, entries };
}

const triedAs = (found: FoundPlugin): Tried => ({ id: found.manifest.id, found });

const programOf = (live: Live, config: PluginsConfig, engineMs?: number): TrialProgram<Tried> => ({
  command: commandLine(),
  env: environmentOf(live, config),
  job: (given) => {
    const found = given.map((one) => one.found);
    return { ...jobOf(found, live, config), ...(engineMs !== undefined && { engineMs }) };
  },
});

/** This process's environment, with the variables of the plugins that it does not have yet. */
function environmentOf({ paths, coming }: Live, plugins: PluginsConfig): Readonly<Record<string, string | undefined>> {
  const env = { ...process.env, OPENCLAW_STATE_DIR: paths.stateDir };
  const log = openLog({ level: "silent", consoleLevel: "silent", consoleStyle: "json" });
  new PluginVariables(log, env).follow({ plugins: coming.plugins, config: { ...coming.config, plugins } });
  return env;
}

function jobOf(plugins: readonly FoundPlugin[], live: Live, settings: PluginsConfig): Omit<TrialJob, "lifeMs"> {
  const { coming, paths, defaultAgent } = live;
  const config = { ...coming.config, plugins: settings };
  const ids = plugins.map(({ manifest }) => manifest.id);
  const entries = ids.flatMap((id) => {
    const entry = own(config.plugins.entries, id);
    return entry ? [[id, { ...entry, ...settingsFor(config, id) }] as const] : [];
  });
  const shown = plugins.map(({ manifest }) => [manifest.id, shownForPlugin(config, manifest)]);
  return {
    plugins,
    config: { ...config.plugins, entries: Object.fromEntries(entries) },
    shown: Object.fromEntries(shown),
    stateDir: paths.stateDir,
    workspace: defaultAgent.workspace,
  };
}

/** The command that starts the process of trials: of the bundle, or of the sources where those run. */
function commandLine(): readonly [string, ...string[]] {
  const dist = join(packageRoot, "dist");
  if (fileURLToPath(import.meta.url).startsWith(dist)) return [process.execPath, join(dist, "plugin-trial.js")];
  const source = join(packageRoot, "src", "app", "plugins", "trial-process.ts");
  return [process.execPath, "--conditions=source", source];
}
