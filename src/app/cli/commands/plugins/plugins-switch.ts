import { activationOf } from "../../../../plugins/found/activation.ts";
import {
  keptOffBy,
  slotsOf,
  switchOff,
  switchOn,
  type ConfigSwitch,
  type SlotValues,
} from "../../../../plugins/install/switches.ts";
import { forgetTrial } from "../../../../plugins/trial/trials.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { defined } from "../../../../utils/defined.ts";
import { own } from "../../../../utils/own.ts";
import { writeConfigValues } from "../../../config/edit/write.ts";
import { FOLLOWS, loadNow, takenUp, type TakenUp } from "../../ask-plugins.ts";
import { writeJson, type Io } from "../../io.ts";
import type { State } from "../../state.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { chooseSlots, notSelected, putBack, type SlotProblem } from "./choose-slots.ts";
import {
  pluginEngines,
  noPlugin,
  readPluginState,
  requirePlugin,
  requirePluginState,
  type PluginCommandState,
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
  const hasSlot = slotsOf(plugin.manifest).length > 0;
  if (wasLeftOut && !hasSlot && !plugins.state.owner)
    io.err(`${id} is tried again at the next start of the gateway.\n`);
  const { values, problem, isOff } = await chooseSlots(plugins, plugin);
  if (problem && isOff) return refuse(io, { id, problem, flags });
  const turned = switchOn(config.plugins, { id }, values);
  return change(io, plugins, { id, change: turned, did: "Enabled", flags, values, ...(problem && { problem }) });
}

/** The config stays as it is. */
function refuse(io: Io, { id, problem, flags }: { id: string; problem: SlotProblem; flags: Json }): number {
  if (flags.json === true) writeJson(io, { id, enabled: false, changes: [], problem });
  io.err(`${withoutTerminalControls(notSelected(id, problem))}\n`);
  return 1;
}

/** Disables a plugin in the config and resets its slots. It may be broken, or gone. Throws `NOT_FOUND`. */
export async function pluginsDisable(io: Io, id: string, flags: Json): Promise<number> {
  const plugins = await readPluginState(io);
  const { found, state } = plugins;
  const isKnown = [...found.plugins.map(({ manifest }) => manifest), ...found.broken].some((one) => one.id === id);
  if (!isKnown && !own(state.config.plugins.entries, id)) throw noPlugin(plugins, id);
  const owner = { id, engines: await pluginEngines(io, plugins, id) };
  return change(io, plugins, {
    id,
    change: switchOff(state.config.plugins, owner),
    did: "Disabled",
    flags,
    values: {},
  });
}

interface Switched {
  readonly id: string;
  readonly change: ConfigSwitch;
  readonly did: "Enabled" | "Disabled";
  readonly flags: Json;
  /** The plugins that slots name now. */
  readonly values: SlotValues;
  readonly problem?: SlotProblem;
}

async function change(
  io: Io,
  plugins: PluginCommandState,
  { id, did, flags, values, ...given }: Switched,
): Promise<number> {
  const { state } = plugins;
  const { edits, lines } = given.change;
  await writeConfigValues(state.load, edits);
  const taken = await toldOf(io, state, { id, isOn: did === "Enabled", isNew: lines.length > 0 });
  const problem = given.problem ?? (taken && (await putBack(plugins, { id, values, taken })));
  const gateway = problem ? undefined : taken?.says;
  const isOn = did === "Enabled" && (problem === undefined || given.problem !== undefined);
  if (flags.json === true) writeJson(io, { id, enabled: isOn, changes: lines, ...defined({ gateway, problem }) });
  else {
    for (const line of lines) io.out(`${line}\n`);
    if (did === "Disabled" || isOn) io.out(`${did} plugin: ${id}\n`);
    if (gateway !== undefined) io.out(`${gateway}\n`);
  }
  if (!problem) return 0;
  io.err(`${withoutTerminalControls(notSelected(id, problem))}\n`);
  return 1;
}

/** The answer of the running gateway; undefined when none runs. */
async function toldOf(
  io: Io,
  state: State,
  { id, isOn, isNew }: { id: string; isOn: boolean; isNew: boolean },
): Promise<TakenUp | undefined> {
  if (!state.owner) return undefined;
  if (!isOn) return { says: FOLLOWS };
  // Where the config says nothing new, the gateway would not look again at a plugin that it could not load.
  return isNew ? takenUp(io, state, id) : { says: await loadNow(io, state, id) };
}
