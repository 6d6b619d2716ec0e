import { LEGACY } from "../../history/engines/open-engine.ts";
import { insteadOf, NO_MEMORY } from "../../plugins/found/absence.ts";
import { keptOffBy, SLOT_NAMES, slotsOf, type Slot, type SlotValues } from "../../plugins/install/switches.ts";
import { OpenClawError } from "../../types/errors.ts";
import type { FoundPlugin } from "../../types/plugin/manifest.ts";
import { own } from "../../utils/own.ts";
import { valueAt } from "../config/schema/problem.ts";
import type { Live } from "../live.ts";
import { engineFault } from "./faults.ts";
import { judgePlugins, type TrialVerdict } from "./trial-program.ts";
import type { ConfigEdit } from "../../types/gateway-acts.ts";

/** The id of a plugin that a slot can name, or the reason why there is none. */
export type Selectable =
  | { readonly id: string }
  /** `why`: a sentence without its full stop. */
  | { readonly why: string; readonly fix: string };

/**
 * The id by which a slot can name a plugin that was tried: `wanted`, or the id of the plugin's engine that fits best.
 */
export function selectable(
  slot: Slot,
  { plugin, engines, isMemory, problem, unusable }: TrialVerdict,
  wanted?: string,
): Selectable {
  const { id } = plugin.manifest;
  const usual = `Mend its settings or its code, or run: openclaw plugins update ${id}`;
  if (problem) return { why: problem.why, fix: problem.fix ?? usual };
  if (slot === "memory") return isMemory ? { id } : { why: `it ${NO_MEMORY}`, fix: usual };
  if (engines.length === 0 || (wanted !== undefined && !engines.includes(wanted)))
    return { why: `it ${insteadOf(engines)}`, fix: usual };
  const names = wanted === undefined ? [...engines].toSorted((a, b) => Number(b === id) - Number(a === id)) : [wanted];
  const usable = names.find((name) => unusable.every((one) => one.id !== name));
  if (usable !== undefined) return { id: usable };
  const fault = unusable.find((one) => one.id === names[0]);
  return { why: fault?.why.replace(/\.$/, "") ?? "its engine cannot be used", fix: fault?.fix ?? usual };
}

/** Ids that a slot can name without a plugin. */
const BUILT_IN: Readonly<Record<Slot, readonly string[]>> = {
  contextEngine: [LEGACY],
  memory: ["memory-core", "none"],
};

const NAMES: Readonly<Record<Slot, string>> = { contextEngine: "context engine", memory: "memory" };

interface Wanted {
  readonly id: string;
  /** Whether the same change of the config enables a plugin. */
  turnedOn?(plugin: FoundPlugin): boolean;
}

/**
 * Checks that a slot can name this id, before the config does: the plugins that may have the id are tried. Throws
 * `ENGINE_MISSING` and `ENGINE_UNUSABLE` for the engine, `PLUGIN_INVALID` for the memory, and `NOT_FOUND` for a memory
 * that does not exist.
 */
export async function requireSelectable(live: Live, slot: Slot, { id, turnedOn = () => false }: Wanted): Promise<void> {
  if (BUILT_IN[slot].includes(id)) return;
  if (slot === "contextEngine" && live.contributions.contextEngine(id)) {
    const fault = await engineFault(live, id);
    if (!fault) return;
    throw new OpenClawError("ENGINE_UNUSABLE", { message: `It is not selected. ${fault.message}`, fix: fault.fix });
  }
  const against = await reasonsAgainst(live, slot, { id, turnedOn });
  if (!against) return;
  const [first] = against;
  const what = NAMES[slot];
  const message = first
    ? `The ${what} "${id}" is not selected: the plugin ${first.plugin} cannot be it: ${first.why}.`
    : `There is no ${what} "${id}".`;
  const usual = `Install its plugin first, or choose "${BUILT_IN[slot][0]}"; openclaw plugins list shows the plugins.`;
  throw new OpenClawError(CODES[slot][first ? "unfit" : "missing"], { message, fix: first?.fix ?? usual });
}

const CODES = {
  contextEngine: { unfit: "ENGINE_UNUSABLE", missing: "ENGINE_MISSING" },
  memory: { unfit: "PLUGIN_INVALID", missing: "NOT_FOUND" },
} as const;

interface Reason {
  readonly plugin: string;
  readonly why: string;
  readonly fix: string;
}

/**
 * The reasons why none of the plugins that may have the id can be in the slot, as far as a plugin is known to have it;
 * undefined when one can.
 */
async function reasonsAgainst(
  live: Live,
  slot: Slot,
  { id, turnedOn }: Required<Wanted>,
): Promise<readonly Reason[] | undefined> {
  const reasons: Reason[] = [];
  for (const plugin of candidatesIn(live, slot, id)) {
    const { id: owner } = plugin.manifest;
    // A problem of the plugin's code is named first: to enable the plugin would not help.
    const found = keptOff(live, plugin) ?? selectable(slot, await trialVerdict(plugin, live), id);
    const isOn = own(live.config.plugins.entries, owner)?.enabled !== false || turnedOn(plugin);
    if (!("why" in found) && isOn) return undefined;
    const reason = "why" in found ? found : { why: `plugins.entries.${owner}.enabled is false`, fix: enabling(owner) };
    if (isNamed(plugin, slot, id) || !("why" in found)) reasons.push({ plugin: owner, ...reason });
  }
  return reasons;
}

/** The ids that edits of the config make the slots name. */
export function slotsIn(edits: readonly ConfigEdit[]): readonly (readonly [Slot, string])[] {
  return SLOT_NAMES.flatMap((slot) => {
    const path = ["plugins", "slots", slot];
    const named = edits
      .filter((edit) => edit.path.length <= path.length && edit.path.every((part, at) => part === path[at]))
      .map((edit) => valueAt(edit.value, path.slice(edit.path.length)))
      .findLast((value) => typeof value === "string");
    return typeof named === "string" ? [[slot, named] as const] : [];
  });
}

/**
 * Checks that edits of the running gateway's config make no slot name an id that cannot be in it. Throws as
 * `requireSelectable` does.
 */
export async function requireSlots(live: Live, edits: readonly ConfigEdit[]): Promise<void> {
  const turnedOn = ({ manifest: { id } }: FoundPlugin) =>
    edits.some(({ path, value }) => path.join(".") === `plugins.entries.${id}.enabled` && value === true);
  for (const [slot, id] of slotsIn(edits))
    if (live.config.plugins.slots[slot] !== id) await requireSelectable(live, slot, { id, turnedOn });
}

/** Whether a plugin is known to have the id, or would be taken to have it. */
const isNamed = ({ manifest, engines }: FoundPlugin, slot: Slot, id: string): boolean =>
  manifest.id === id || (slot === "contextEngine" && engines.includes(id));

/**
 * The plugins that may have the id. An engine can have any id, so plugins of its kind whose code was never tried count
 * too.
 */
function candidatesIn(live: Live, slot: Slot, id: string): readonly FoundPlugin[] {
  const { plugins } = live.loaded.plugins;
  const named = plugins.filter((plugin) => isNamed(plugin, slot, id));
  if (named.length > 0 || slot === "memory") return named;
  return plugins.filter(({ manifest, engines }) => manifest.kinds.includes("context-engine") && engines.length === 0);
}

/** The reason why no plugin, or not this one, may run; undefined when it may. */
function keptOff(
  { config: { plugins } }: Live,
  { manifest: { id } }: FoundPlugin,
): { why: string; fix: string } | undefined {
  const off = keptOffBy(plugins, id);
  return off === undefined ? undefined : { why: off.replace(/\.$/, ""), fix: enabling(id) };
}

const enabling = (id: string): string => `Run: openclaw plugins enable ${id}`;

/** Tries a plugin. `isDraft`: the plugin is in a place where it will not stay. */
export async function trialVerdict(plugin: FoundPlugin, live: Live, isDraft = false): Promise<TrialVerdict> {
  const [verdict] = await judgePlugins([plugin], live, !isDraft);
  return verdict ?? { plugin, engines: [], isMemory: false, unusable: [], problem: { why: "it could not be tried" } };
}

/**
 * The ids that the slots of a plugin's kinds are to name once the plugin is enabled, or the reason why it cannot be in
 * one of them. Tries the plugin.
 */
export async function slotValuesOf(
  plugin: FoundPlugin,
  live: Live,
  isDraft = false,
): Promise<Exclude<Selectable, { id: string }> | { readonly values: SlotValues }> {
  const slots = slotsOf(plugin.manifest);
  if (slots.length === 0) return { values: {} };
  const verdict = await trialVerdict(plugin, live, isDraft);
  let values: SlotValues = {};
  for (const slot of slots) {
    const found = selectable(slot, verdict);
    if (!("id" in found)) return found;
    values = { ...values, [slot]: found.id };
  }
  return { values };
}
