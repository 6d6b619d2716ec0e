import type { PluginManifest } from "../../types/plugin/manifest.ts";
import { own } from "../../utils/own.ts";
import type { PluginsConfig } from "../config.ts";
import type { ConfigEdit } from "../../types/gateway-acts.ts";

/** Changes of the config, and a sentence for the operator about each change. */
export interface ConfigSwitch {
  readonly edits: readonly ConfigEdit[];
  readonly lines: readonly string[];
}

type Plugin = Pick<PluginManifest, "id">;

/** A plugin with the context engines that it is known to register, whose ids need not be its own. */
export interface SlotOwner extends Plugin {
  readonly engines: readonly string[];
}

/** The slots of which only one plugin can be active, with the plugin kind and the built-in choice. */
const SLOTS = [
  { slot: "contextEngine", kind: "context-engine", builtIn: "legacy" },
  { slot: "memory", kind: "memory", builtIn: "memory-core" },
] as const;

export type Slot = (typeof SLOTS)[number]["slot"];

export const SLOT_NAMES: readonly Slot[] = SLOTS.map(({ slot }) => slot);

/** Values of slots. */
export type SlotValues = Readonly<Partial<Record<Slot, string>>>;

/** The slots of a plugin's kinds. */
export const slotsOf = ({ kinds }: Pick<PluginManifest, "kinds">): readonly Slot[] =>
  SLOTS.flatMap(({ slot, kind }) => (kinds.includes(kind) ? [slot] : []));

/** Enables a plugin, and sets the slots to the given values. */
export function switchOn(config: PluginsConfig, { id }: Plugin, values: SlotValues): ConfigSwitch {
  const slots = SLOTS.flatMap(({ slot }) => {
    const value = values[slot];
    return value === undefined || value === config.slots[slot] ? [] : [{ slot, value }];
  });
  const isUnlisted = config.allow.length > 0 && !config.allow.includes(id);
  const isOn = own(config.entries, id)?.enabled === true;
  return {
    edits: [
      { path: ["plugins", "entries", id, "enabled"], value: true },
      ...(isUnlisted ? [{ path: ["plugins", "allow", config.allow.length], value: id }] : []),
      ...slots.map(({ slot, value }) => ({ path: ["plugins", "slots", slot], value })),
    ],
    lines: [
      ...(isOn ? [] : [`Set plugins.entries.${id}.enabled to true.`]),
      ...(isUnlisted ? [`Added "${id}" to plugins.allow.`] : []),
      ...slots.map(
        ({ slot, value }) => `Exclusive slot "${slot}" switched from "${config.slots[slot]}" to "${value}".`,
      ),
    ],
  };
}

/** Disables a plugin and resets the slots that name it or its engines. Its settings stay. */
export function switchOff(config: PluginsConfig, plugin: SlotOwner): ConfigSwitch {
  const { id } = plugin;
  const slots = slotReset(config, plugin);
  const isOff = own(config.entries, id)?.enabled === false;
  return {
    edits: [{ path: ["plugins", "entries", id, "enabled"], value: false }, ...slots.edits],
    lines: [...(isOff ? [] : [`Set plugins.entries.${id}.enabled to false.`]), ...slots.lines],
  };
}

/** Forgets a plugin: its settings, its slots, its place in lists of the config. An entry that disables it stays. */
export function forgetPlugin(config: PluginsConfig, plugin: SlotOwner, linked: readonly number[]): ConfigSwitch {
  const { id } = plugin;
  const slots = slotReset(config, plugin);
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

function slotReset(config: PluginsConfig, plugin: SlotOwner): ConfigSwitch {
  const slots = SLOTS.filter(({ slot }) => isIn(config, slot, plugin));
  return {
    edits: slots.map(({ slot }) => ({ path: ["plugins", "slots", slot], value: undefined })),
    lines: slots.map(
      ({ slot, builtIn }) => `Exclusive slot "${slot}" switched from "${config.slots[slot]}" to "${builtIn}".`,
    ),
  };
}

/** Edits that give the named slots their values in this config again. */
export const slotsBefore = (config: PluginsConfig, values: SlotValues): readonly ConfigEdit[] =>
  SLOTS.filter(({ slot }) => values[slot] !== undefined).map(({ slot, builtIn }) => ({
    path: ["plugins", "slots", slot],
    value: config.slots[slot] === builtIn ? undefined : config.slots[slot],
  }));

/** A plugin whose code was never run is taken to have an engine with its own id. */
const isIn = ({ slots }: PluginsConfig, slot: Slot, { id, engines }: SlotOwner): boolean =>
  slots[slot] === id || (slot === "contextEngine" && engines.includes(slots[slot]));

/** Whether a slot names the plugin, or one of its engines. */
export const isSelected = (config: PluginsConfig, plugin: SlotOwner): boolean =>
  SLOTS.some(({ slot }) => isIn(config, slot, plugin));

/** Edits that remove items, from the last item on, so that no index changes before it is used. */
const itemsOut = (path: readonly string[], indexes: readonly number[]): readonly ConfigEdit[] =>
  indexes.toReversed().map((index) => ({ path: [...path, index], value: undefined }));

/** Why a plugin stays off although it is enabled, as a sentence; undefined when nothing keeps it off. */
export function keptOffBy(config: PluginsConfig, id: string): string | undefined {
  if (!config.enabled) return "plugins.enabled is false, so no plugin is loaded.";
  if (config.deny.includes(id)) return `plugins.deny names ${id}, so it is not loaded.`;
  return undefined;
}

/** True when an entry of the config names the plugin. */
export const isConfigured = ({ entries, allow, slots }: PluginsConfig, id: string): boolean =>
  own(entries, id) !== undefined || allow.includes(id) || slots.contextEngine === id || slots.memory === id;
