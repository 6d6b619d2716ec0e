import { keptOffBy, slotsBefore, slotsOf, type SlotValues } from "../../../../plugins/install/switches.ts";
import type { FoundPlugin } from "../../../../types/plugin/manifest.ts";
import { own } from "../../../../utils/own.ts";
import { writeConfigValues } from "../../../config/edit/write.ts";
import { slotValuesOf } from "../../../plugins/select.ts";
import type { TakenUp } from "../../ask-plugins.ts";
import { liveOf, type PluginCommandState } from "./plugin-state.ts";

/** Why a plugin is not selected. */
export interface SlotProblem {
  /** Half a sentence. */
  readonly why: string;
  readonly fix: string;
}

interface Chosen {
  /** The plugins that the slots are to name. */
  readonly values: SlotValues;
  /** Set for a plugin of a slot that is not selected. */
  readonly problem?: SlotProblem;
  /** Whether it is not even to be enabled, because it cannot be used. */
  readonly isOff: boolean;
}

/** Whether a plugin that is to be enabled can be in the slots of its kinds. It is tried where it has one. */
export async function chooseSlots(plugins: PluginCommandState, plugin: FoundPlugin): Promise<Chosen> {
  const { id } = plugin.manifest;
  if (slotsOf(plugin.manifest).length === 0) return { values: {}, isOff: false };
  const off = keptOffBy(plugins.state.config.plugins, id)?.replace(/\.$/, "");
  // Nothing of its code is to run.
  if (off !== undefined)
    return {
      values: {},
      problem: { why: off, fix: `Correct that, then run: openclaw plugins enable ${id}` },
      isOff: false,
    };
  const found = await slotValuesOf(plugin, await liveOf(plugins));
  if ("values" in found) return { values: found.values, isOff: false };
  return { values: {}, problem: found, isOff: true };
}

/** Two sentences about a plugin that is not selected. */
export const notSelected = (id: string, { why, fix }: SlotProblem): string => `${id} is not selected: ${why}. ${fix}`;

interface Switched {
  readonly id: string;
  readonly values: SlotValues;
  readonly taken: TakenUp;
}

/**
 * Takes the change back where the running gateway cannot use a plugin that slots name now: they and its entry are again as `plugins`
 * has them. Gives the reason; undefined where nothing had to be taken back.
 */
export async function putBack(
  { state }: PluginCommandState,
  { id, values, taken }: Switched,
): Promise<SlotProblem | undefined> {
  const { why, fix = "Mend or update the plugin." } = taken;
  if (why === undefined || Object.keys(values).length === 0) return undefined;
  const { entries } = state.config.plugins;
  await writeConfigValues(state.load, [
    { path: ["plugins", "entries", id, "enabled"], value: own(entries, id)?.enabled ?? false },
    ...slotsBefore(state.config.plugins, values),
  ]);
  return { why: `the running gateway cannot use it, and the config is as it was: ${why}`, fix };
}
