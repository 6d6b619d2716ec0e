import type { FoundPlugin } from "../../types/plugin/manifest.ts";
import { own } from "../../utils/own.ts";
import type { PluginsConfig } from "../config.ts";
import { apiTooOld } from "../sdk-version.ts";

export type Activation =
  | { readonly isOn: true }
  /** `reason` is a sentence without its full stop; `isProblem`: the config wants the plugin, and it cannot run. */
  | { readonly isOn: false; readonly reason: string; readonly isProblem?: boolean };

const off = (reason: string): Activation => ({ isOn: false, reason });

type Rule = (plugin: FoundPlugin, config: PluginsConfig) => Activation | undefined;

/** The first rule with an answer counts. */
const RULES: readonly Rule[] = [
  (_plugin, { enabled }) => (enabled ? undefined : off("plugins.enabled is false")),
  ({ manifest }, { deny }) => (deny.includes(manifest.id) ? off("plugins.deny names it") : undefined),
  ({ manifest }, { entries }) =>
    own(entries, manifest.id)?.enabled === false ? off(`plugins.entries.${manifest.id}.enabled is false`) : undefined,
  tooNew,
  otherMemory,
  (plugin, config) => (isInSlot(plugin, config) ? { isOn: true } : undefined),
  ({ manifest }, { allow }) =>
    allow.length > 0 && !allow.includes(manifest.id) ? off("plugins.allow does not name it") : undefined,
  ({ manifest }, { entries, allow }) =>
    own(entries, manifest.id)?.enabled === true || allow.includes(manifest.id) ? { isOn: true } : undefined,
  ({ origin }) => (origin === "config" ? { isOn: true } : undefined),
];

/** Whether a plugin that was found is to be loaded. Nothing runs only because its folder exists. */
export function activationOf(plugin: FoundPlugin, config: PluginsConfig): Activation {
  for (const rule of RULES) {
    const answer = rule(plugin, config);
    if (answer) return answer;
  }
  return off(`it is not enabled; run: openclaw plugins enable ${plugin.manifest.id}`);
}

function tooNew(plugin: FoundPlugin): Activation | undefined {
  const reason = apiTooOld(plugin);
  return reason === undefined ? undefined : { isOn: false, isProblem: true, reason };
}

/** There is one memory. */
function otherMemory({ manifest }: FoundPlugin, { slots }: PluginsConfig): Activation | undefined {
  if (!manifest.kinds.includes("memory") || manifest.kinds.length > 1) return undefined;
  if (slots.memory === undefined || slots.memory === manifest.id) return undefined;
  return off(`plugins.slots.memory is ${slots.memory}`);
}

/** The slot of the engine has an engine's id. Before its code was tried, a plugin is taken to have an engine with its own. */
const isInSlot = ({ manifest: { id }, engines }: FoundPlugin, { slots }: PluginsConfig): boolean =>
  slots.memory === id || slots.contextEngine === id || engines.includes(slots.contextEngine);
