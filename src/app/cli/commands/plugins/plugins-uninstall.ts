import { existsSync } from "node:fs";
import { join } from "node:path";
import { removeInstalled, repairStore, withStoreLock } from "../../../../plugins/install/swap.ts";
import { forgetPlugin, isConfigured, type ConfigSwitch, type SlotOwner } from "../../../../plugins/install/switches.ts";
import { forgetTrial } from "../../../../plugins/trial/trials.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { own } from "../../../../utils/own.ts";
import { writeConfigValues } from "../../../config/edit/write.ts";
import { canAsk, confirmed } from "../../ask.ts";
import { writeJson, type Io } from "../../io.ts";
import { FOLLOWS } from "../../ask-plugins.ts";
import { untilFollowed } from "../../until-followed.ts";
import { pluginEngines, noPlugin, readPluginState, type PluginCommandState } from "./plugin-state.ts";

export type UninstallFlags = Keep & Sure & { readonly json?: boolean };

interface Keep {
  readonly keepFiles?: boolean;
  readonly keepConfig?: boolean;
}

interface Sure {
  readonly dryRun?: boolean;
  readonly force?: boolean;
}

/** Removes a plugin: folder, record, settings and slots. 1 when a person says no. Throws `NOT_FOUND`. */
export async function pluginsUninstall(io: Io, id: string, flags: UninstallFlags): Promise<number> {
  const plugins = await readPluginState(io);
  const plan = planOf(plugins, { id, engines: await pluginEngines(io, plugins, id) }, flags);
  if (flags.dryRun === true) {
    report(io, plan, flags);
    return 0;
  }
  if (!(await isSure(io, id, flags))) {
    io.err("Nothing was removed.\n");
    return 1;
  }
  const { store, state } = plugins;
  await writeConfigValues(state.load, plan.change.edits);
  // A plugin that the gateway still uses must not lose its files.
  if (plan.change.edits.length > 0) await untilFollowed(io, state);
  await withStoreLock(store, async () => {
    for (const line of await repairStore(store)) io.err(`${line}\n`);
    await removeInstalled(store, id, plan.folder === undefined);
  });
  await forgetTrial(state.paths, id);
  report(io, plan, flags);
  if (flags.json !== true && state.owner) io.out(`${FOLLOWS}\n`);
  return 0;
}

interface Plan {
  readonly id: string;
  /** Removed with everything in it. */
  readonly folder?: string;
  readonly change: ConfigSwitch;
}

function planOf(plugins: PluginCommandState, owner: SlotOwner, flags: Keep): Plan {
  const { id } = owner;
  const { found, store, state } = plugins;
  const folder = join(store.extensions, id);
  const there = found.plugins.find(({ manifest }) => manifest.id === id);
  const isInstalled = existsSync(folder);
  const isKnown = there !== undefined || own(found.records, id) !== undefined;
  if (/[/\\]|^\.+$/.test(id) || !(isInstalled || isKnown || isConfigured(state.config.plugins, id)))
    throw noPlugin(plugins, id);
  if (there?.origin === "workspace" && !isInstalled)
    throw new OpenClawError("USAGE", {
      message: `${id} is part of a workspace: ${there.root}.`,
      fix: `Remove the folder yourself, or run: openclaw plugins disable ${id}`,
    });
  return {
    id,
    ...(isInstalled && flags.keepFiles !== true && { folder }),
    change: flags.keepConfig === true ? { edits: [], lines: [] } : configChange(plugins, owner),
  };
}

function configChange({ found, state }: PluginCommandState, owner: SlotOwner): ConfigSwitch {
  const { id } = owner;
  const linked = found.plugins.filter(({ manifest, origin }) => manifest.id === id && origin === "config");
  const spec = own(found.records, id)?.spec;
  const indexes = found.loadPaths.flatMap((path, index) =>
    linked.some(({ root }) => root === path) || path === spec ? [index] : [],
  );
  const change = forgetPlugin(state.config.plugins, owner, indexes);
  return { ...change, edits: [...change.edits, { path: ["plugins", "installs", id], value: undefined }] };
}

async function isSure(io: Io, id: string, { force }: Sure): Promise<boolean> {
  if (force === true) return true;
  if (canAsk(io)) return confirmed(`Uninstall ${id} and remove its files?`);
  throw new OpenClawError("USAGE", { message: "There is nobody to ask here.", fix: "Add --yes." });
}

function report(io: Io, { id, folder, change }: Plan, flags: UninstallFlags): void {
  const isDry = flags.dryRun === true;
  if (flags.json === true) {
    writeJson(io, { id, dryRun: isDry, folder: folder ?? null, changes: change.lines });
    return;
  }
  for (const line of change.lines) io.out(`${isDry ? "Not done: " : ""}${line}\n`);
  if (folder !== undefined) io.out(`${isDry ? "Would remove" : "Removed"} ${folder}\n`);
  io.out(`${isDry ? "Would uninstall" : "Uninstalled"} plugin: ${id}\n`);
}
