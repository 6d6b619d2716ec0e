import { bounded } from "../../history/engines/bounded.ts";
import { LEGACY, openEngine } from "../../history/engines/open-engine.ts";
import { engineSettings } from "../../history/engines/settings.ts";
import { isMemory, NO_MEMORY } from "../../plugins/found/absence.ts";
import { activationOf } from "../../plugins/found/activation.ts";
import { systemClock } from "../../types/clock.ts";
import { OpenClawError } from "../../types/errors.ts";
import type { FoundPlugin } from "../../types/plugin/manifest.ts";
import { own } from "../../utils/own.ts";
import { shownConfig } from "../config/shown.ts";
import { enginesIn } from "../compose/engines.ts";
import { pluginScene, type Live } from "../live.ts";
import type { Fault } from "../../types/answers/plugins.ts";
import { modelsOf } from "./models-of.ts";

/** Values of the memory's slot that need no plugin. */
const NO_PLUGIN = new Set(["memory-core", "none"]);

/**
 * Finds the faults of all parts that the config names, in a process that has loaded the plugins. The selected engine is
 * opened as by a run.
 */
export async function faultsOf(live: Live): Promise<readonly Fault[]> {
  const { id } = engineSettings(live.config.plugins);
  const ofEngine = id === LEGACY ? undefined : await engineFault(live, id);
  return [...(ofEngine ? [ofEngine] : []), ...memoryFaults(live), ...partFaults(live)];
}

/**
 * Opens an engine as a run would. Resolves with the fault that keeps the engine from use; undefined when there is none.
 */
export async function engineFault(live: Live, id: string): Promise<Fault | undefined> {
  const { timeouts } = engineSettings(live.config.plugins);
  const { workspace } = live.defaultAgent;
  const context = { config: shownConfig(live.config), agentDir: workspace, workspaceDir: workspace };
  const opening = { engines: enginesIn(live), context, clock: systemClock, ms: timeouts.bootstrap };
  try {
    const engine = await openEngine(id, opening);
    await bounded(() => engine.dispose?.(), { clock: systemClock, ms: timeouts.dispose });
    return undefined;
  } catch (error) {
    // A run would meet the same error, whatever it is.
    const known = error instanceof OpenClawError ? error : undefined;
    const message = known?.message ?? `The context engine "${id}" cannot be used: ${String(error)}.`;
    const fix = known?.fix ?? "Mend or update its plugin.";
    return { kind: "engine", name: id, plugin: engineOwner(live, id), message, fix };
  }
}

/** The plugin that has an engine, or that should have it. */
function engineOwner({ contributions, loaded }: Live, id: string): string | undefined {
  const { plugins } = loaded.plugins;
  const found =
    plugins.find(({ engines }) => engines.includes(id)) ?? plugins.find(({ manifest }) => manifest.id === id);
  return contributions.engineOwner(id) ?? found?.manifest.id;
}

function memoryFaults(live: Live): readonly Fault[] {
  const { memory: id } = live.config.plugins.slots;
  if (NO_PLUGIN.has(id)) return [];
  const fault = (why: string, fix: string, plugin?: string): readonly Fault[] => [
    { kind: "memory", name: id, plugin, message: `The memory "${id}" cannot be used: ${why}.`, fix },
  ];
  const found = live.loaded.plugins.plugins.find(({ manifest }) => manifest.id === id);
  const back = 'set plugins.slots.memory to "memory-core"';
  if (!found) return fault("there is no such plugin", `Install it, or ${back}.`);
  const why = whyOff(live, found);
  if (why !== undefined) return fault(`its plugin is not loaded: ${why}`, `Mend or update it, or ${back}.`, id);
  if (isMemory(live.contributions.namesOf(id))) return [];
  return fault(`its plugin ${NO_MEMORY}`, `Mend or update it, or ${back}.`, id);
}

/**
 * Channels, providers of models and tools that the config uses, and that the manifest of an enabled plugin promises.
 */
function partFaults(live: Live): readonly Fault[] {
  const { config, contributions } = live;
  const used = usedIn(live);
  return live.loaded.plugins.plugins.flatMap((plugin) => {
    const { id, channels, providers, tools = [] } = plugin.manifest;
    // A plugin that is off or is not loaded is reported as such.
    if (!activationOf(plugin, config.plugins).isOn || contributions.failureOf(id) !== undefined) return [];
    const added = contributions.namesOf(id);
    const missing = (kind: Fault["kind"], key: string, promised: readonly string[], named: ReadonlySet<string>) =>
      promised
        .filter((name) => named.has(name) && !(added[key] ?? []).includes(name))
        .map((name): Fault => ({
          kind,
          name,
          plugin: id,
          message: `The config uses the ${NAMES[kind]} "${name}", and its plugin ${id} does not register it.`,
          fix: `Look at the plugin's settings, or run: openclaw plugins update ${id}`,
        }));
    return [
      ...missing(
        "channel",
        "channels",
        channels.map((channel) => channel.id),
        used.channels,
      ),
      ...missing("provider", "providers", providers, used.providers),
      ...missing("tool", "tools", tools, used.tools),
    ];
  });
}

const NAMES: Readonly<Record<Fault["kind"], string>> = {
  engine: "context engine",
  memory: "memory",
  channel: "channel",
  provider: "provider of models",
  tool: "tool",
};

const whyOff = (live: Live, plugin: FoundPlugin): string | undefined => {
  const { config, contributions } = pluginScene(live);
  const activation = activationOf(plugin, config);
  return activation.isOn ? contributions.failureOf(plugin.manifest.id) : activation.reason;
};

/** The names that the config has of channels, providers of models and tools. */
function usedIn({ config, agents }: Live) {
  const isOn = (channel: string) => own(config.channels, channel)?.enabled !== false;
  const policies = [config.tools, ...config.agents.list.map(({ tools }) => tools)];
  const named = policies.flatMap((policy) => [...(policy?.allow ?? []), ...(policy?.alsoAllow ?? [])]);
  return {
    channels: new Set(Object.keys(config.channels).filter(isOn)),
    providers: new Set(agents.flatMap((agent) => modelsOf(agent).map(({ provider }) => provider))),
    tools: new Set(named),
  };
}
