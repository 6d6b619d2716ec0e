import { activationOf } from "../../../../plugins/found/activation.ts";
import { keptOffBy, switchOff, switchOn, type ConfigSwitch } from "../../../../plugins/install/switches.ts";
import { forgetTrial } from "../../../../plugins/trial/trials.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { own } from "../../../../utils/own.ts";
import { writeConfigValues } from "../../../config/edit/write.ts";
import { loadNow } from "../../ask-plugins.ts";
import { writeJson, type Io } from "../../io.ts";
import {
  noPlugin,
  readPluginState,
  requirePlugin,
  requirePluginState,
  FOLLOWS,
  type PluginState,
} from "./plugin-state.ts";

interface Json {
  readonly json?: boolean;
}

/** Enables a plugin in the config, with the slots of its kinds. Throws `NOT_FOUND`, and `PLUGIN_INVALID` for a broken one. */
export async function pluginsEnable(io: Io, name: string, flags: Json): Promise<number> {
  const plugins = await requirePluginState(io);
  const plugin = requirePlugin(plugins, name);
  const { id } = plugin.manifest;
  const { config } = plugins.state;
  const activation = activationOf(plugin, config.plugins);
  if (!activation.isOn && activation.isProblem === true)
    throw new OpenClawError("PLUGIN_INVALID", {
      message: `${id} cannot be used: ${activation.reason}.`,
      fix: `Run: openclaw plugins update ${id}`,
    });
  const off = keptOffBy(config.plugins, id);
  if (off !== undefined) io.err(`${off}\n`);
  const wasLeftOut = await forgetTrial(plugins.state.paths, id);
  if (wasLeftOut && !plugins.state.owner) io.err(`${id} is tried again at the next start of the gateway.\n`);
  return change(io, plugins, { id, change: switchOn(config.plugins, plugin.manifest), did: "Enabled", flags });
}

/** Disables a plugin in the config and resets its slots. It may be broken, or gone. Throws `NOT_FOUND`. */
export async function pluginsDisable(io: Io, id: string, flags: Json): Promise<number> {
  const plugins = await readPluginState(io);
  const { found, state } = plugins;
  const isKnown = [...found.plugins.map(({ manifest }) => manifest), ...found.broken].some((one) => one.id === id);
  if (!isKnown && !own(state.config.plugins.entries, id)) throw noPlugin(plugins, id);
  return change(io, plugins, { id, change: switchOff(state.config.plugins, id), did: "Disabled", flags });
}

interface Switched {
  readonly id: string;
  readonly change: ConfigSwitch;
  readonly did: string;
  readonly flags: Json;
}

async function change(io: Io, { state }: PluginState, { id, change: { edits, lines }, did, flags }: Switched) {
  await writeConfigValues(state.load, edits);
  // Where the config says nothing new, the gateway would not look again at a plugin that it could not load.
  const isAsked = did === "Enabled" && lines.length === 0;
  const gateway = state.owner && (isAsked ? await loadNow(io, state, id) : FOLLOWS);
  if (flags.json === true) {
    writeJson(io, { id, enabled: did === "Enabled", changes: lines, ...(gateway !== undefined && { gateway }) });
    return 0;
  }
  for (const line of lines) io.out(`${line}\n`);
  io.out(`${did} plugin: ${id}\n`);
  if (gateway !== undefined) io.out(`${gateway}\n`);
  return 0;
}
