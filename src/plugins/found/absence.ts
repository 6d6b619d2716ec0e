import type { FoundPlugin } from "../../types/plugin/manifest.ts";
import type { PluginsConfig } from "../config.ts";
import type { Contributions } from "../contributions.ts";
import { activationOf } from "./activation.ts";
import type { Discovered } from "./discover.ts";

/** Facts about the plugins that exist, and about their state. */
export interface Scene {
  readonly found: Discovered;
  readonly config: PluginsConfig;
  readonly contributions: Pick<Contributions, "failureOf" | "namesOf">;
}

/** Why a provider of a plugin that was found is not there, as a sentence. Undefined when no plugin names the provider. */
export function providerAbsence(scene: Scene, provider: string): string | undefined {
  const plugin = scene.found.plugins.find(({ manifest }) => manifest.providers.includes(provider));
  if (!plugin) return undefined;
  const { id } = plugin.manifest;
  const why = notLoaded(plugin, scene);
  if (why === undefined)
    return `The plugin ${id}, which names the provider "${provider}", is loaded and does not register it.`;
  return `The provider "${provider}" comes with the plugin ${id}, which is not loaded: ${why}.`;
}

/** Why a context engine is not there, as half a sentence. Undefined when no plugin is known to have it. */
export function engineAbsence(scene: Scene, engine: string): string | undefined {
  const { plugins, broken } = scene.found;
  const plugin =
    plugins.find((one) => one.engines.includes(engine)) ?? plugins.find(({ manifest }) => manifest.id === engine);
  if (!plugin) {
    const unreadable = broken.find(({ id }) => id === engine);
    return unreadable && `its plugin ${engine} cannot be used: ${unreadable.why}`;
  }
  const { id } = plugin.manifest;
  const why = notLoaded(plugin, scene);
  return `its plugin ${id} ${why === undefined ? insteadOf(scene.contributions.namesOf(id)["engines"]) : `is not loaded: ${why}`}`;
}

/** Registrations of a plugin that does not register the wanted engine, as half a sentence. */
export const insteadOf = (engines: readonly string[] = []): string =>
  engines.length === 0
    ? "registers no context engine"
    : `registers the context engine ${engines.map((name) => `"${name}"`).join(", ")} instead`;

/**
 * Whether a plugin of the slot of the memory registered anything for it, by the names of its contributions. Some
 * memories are only hooks and tools.
 */
export const isMemory = ({
  memories,
  memorySupplements,
  tools,
  hooks,
}: Readonly<Record<string, readonly string[]>>): boolean =>
  (memories ?? memorySupplements ?? tools ?? hooks) !== undefined;

/** Text about a plugin of the memory's slot that registered nothing for it. */
export const NO_MEMORY = "registers no memory, no tool and no hook";

/** Why a plugin is not loaded, as half a sentence; undefined when it is. */
function notLoaded(plugin: FoundPlugin, { config, contributions }: Scene): string | undefined {
  const activation = activationOf(plugin, config);
  return activation.isOn ? contributions.failureOf(plugin.manifest.id) : activation.reason;
}
