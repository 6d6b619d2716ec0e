import type { PluginManifest } from "../../types/plugin/manifest.ts";
import { own } from "../../utils/own.ts";
import type { PluginsConfig } from "../config.ts";

/** One change of the config file; `value` undefined takes the key out. */
export interface ConfigEdit {
  readonly path: readonly (string | number)[];
  readonly value: unknown;
}

/** Changes of the config, and one sentence about each of them for the operator. */
export interface ConfigSwitch {
  readonly edits: readonly ConfigEdit[];
  readonly lines: readonly string[];
}

type Plugin = Pick<PluginManifest, "id" | "kinds">;

/** The slots of which only one plugin can be active, with the plugin kind and the built-in choice. */
const SLOTS = [
  { slot: "contextEngine", kind: "context-engine", builtIn: "legacy" },
  { slot: "memory", kind: "memory", builtIn: "memory-core" },
] as const;

/** Enables a plugin and gives it the slots of its kinds. */
export function switchOn(config: PluginsConfig, { id, kinds }: Plugin): ConfigSwitch {
  const slots = SLOTS.filter(({ slot, kind }) => kinds.includes(kind) && config.slots[slot] !== id);
  const isUnlisted = config.allow.length > 0 && !config.allow.includes(id);
  const isOn = own(config.entries, id)?.enabled === true;
  return {
    edits: [
      { path: ["plugins", "entries", id, "enabled"], value: true },
      ...(isUnlisted ? [{ path: ["plugins", "allow", config.allow.length], value: id }] : []),
      ...slots.map(({ slot }) => ({ path: ["plugins", "slots", slot], value: id })),
    ],
    lines: [
      ...(isOn ? [] : [`Set plugins.entries.${id}.enabled to true.`]),
      ...(isUnlisted ? [`Added "${id}" to plugins.allow.`] : []),
      ...slots.map(({ slot }) => `Exclusive slot "${slot}" switched from "${config.slots[slot]}" to "${id}".`),
    ],
  };
}

/** Disables a plugin and resets the slots that name it. Its settings stay. */
export function switchOff(config: PluginsConfig, id: string): ConfigSwitch {
  const slots = slotReset(config, id);
  const isOff = own(config.entries, id)?.enabled === false;
  return {
    edits: [{ path: ["plugins", "entries", id, "enabled"], value: false }, ...slots.edits],
    lines: [...(isOff ? [] : [`Set plugins.entries.${id}.enabled to false.`]), ...slots.lines],
  };
}

/** Forgets a plugin: its settings, its slots, its place in lists of the config. An entry that disables it stays. */
export function forgetPlugin(config: PluginsConfig, id: string, linked: readonly number[]): ConfigSwitch {
  const slots = slotReset(config, id);
  // An empty list would allow every plugin.
  const others = config.allow.some((name) => name !== id);
  const allowed = config.allow.flatMap((name, index) => (name === id && others ? [index] : []));
  return {
    edits: [
      { path: ["plugins", "entries", id], value: { enabled: false } },
      ...slots.edits,
      ...itemsOut(["plugins", "allow"], allowed),
      ...itemsOut(["plugins", "load", "paths"], linked),
    ],
    lines: [
      `Set plugins.entries.${id} to {"enabled": false}.`,
      ...slots.lines,
      ...(allowed.length > 0 ? [`Removed "${id}" from plugins.allow.`] : []),
      ...(linked.length > 0 ? [`Removed its folder from plugins.load.paths.`] : []),
    ],
  };
}

function slotReset(config: PluginsConfig, id: string): ConfigSwitch {
  const slots = SLOTS.filter(({ slot }) => config.slots[slot] === id);
  return {
    edits: slots.map(({ slot }) => ({ path: ["plugins", "slots", slot], value: undefined })),
    lines: slots.map(({ slot, builtIn }) => `Exclusive slot "${slot}" switched from "${id}" to "${builtIn}".`),
  };
}

/** From the last item on, so that no index changes before it is used. */
const itemsOut = (path: readonly string[], indexes: readonly number[]): readonly ConfigEdit[] =>
  indexes.toReversed().map((index) => ({ path: [...path, index], value: undefined }));

/** Why a plugin stays off although it is enabled, as a sentence; undefined when nothing keeps it off. */
export function keptOffBy(config: PluginsConfig, id: string): string | undefined {
  if (!config.enabled) return "plugins.enabled is false, so no plugin is loaded.";
  if (config.deny.includes(id)) return `plugins.deny names ${id}, so it is not loaded.`;
  return undefined;
}

/** True when an entry of the config speaks of the plugin. */
export const isConfigured = ({ entries, allow, slots }: PluginsConfig, id: string): boolean =>
  own(entries, id) !== undefined || allow.includes(id) || slots.contextEngine === id || slots.memory === id;
