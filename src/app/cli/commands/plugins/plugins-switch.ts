import { activationOf } from "../../../../plugins/found/activation.ts";
import { keptOffBy, switchOff, switchOn, type ConfigSwitch } from "../../../../plugins/install/switches.ts";
import { forgetTrial } from "../../../../plugins/trial/trials.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { own } from "../../../../utils/own.ts";
import { writeConfigValues } from "../../../config/edit/write.ts";
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
  await tryAgain(io, plugins, id);
  return change(io, plugins, { id, change: switchOn(config.plugins, plugin.manifest), did: "Enabled", flags });
}

/** Forgets that the plugin's code had stopped a process: the gateway tries it again. */
async function tryAgain(io: Io, { state: { paths } }: PluginState, id: string): Promise<void> {
  if (!(await forgetTrial(paths, id))) return;
  io.err(`${id} is tried again at the next change of the config or start of the gateway.\n`);
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
  if (flags.json === true) {
    writeJson(io, { id, enabled: did === "Enabled", changes: lines });
    return 0;
  }
  for (const line of lines) io.out(`${line}\n`);
  io.out(`${did} plugin: ${id}\n`);
  if (state.owner) io.out(`${FOLLOWS}\n`);
  return 0;
}
