import { join } from "node:path";
import { linkSource, parseSource, type PluginSource } from "../../../../plugins/install/source.ts";
import { runScripts, stagePlugin, type Staged } from "../../../../plugins/install/stage.ts";
import { isSelected, switchOn, type ConfigSwitch } from "../../../../plugins/install/switches.ts";
import { putRecord } from "../../../../plugins/install/records.ts";
import { commitDraft, repairStore, settleDraft, withStoreLock } from "../../../../plugins/install/swap.ts";
import type { PluginStore } from "../../../../plugins/install/store.ts";
import { forgetTrial } from "../../../../plugins/trial/trials.ts";
import type { InstallRecord } from "../../../../types/plugin/install-record.ts";
import { own } from "../../../../utils/own.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { slotValuesOf } from "../../../plugins/select.ts";
import { BUNDLED_IDS } from "../../../contributions/extensions.ts";
import { type Io, writeJson } from "../../io.ts";
import { hasConsent, showFacts, type ConsentFlags } from "./consent.ts";
import { requireAllowed } from "./judge-install.ts";
import { liveOf, requirePluginState, type PluginCommandState, RESTART } from "./plugin-state.ts";
import { Steps } from "./steps.ts";
import type { PluginsConfig } from "../../../../plugins/config.ts";
import type { FoundPlugin } from "../../../../types/plugin/manifest.ts";
import { defined } from "../../../../utils/defined.ts";
import { writeConfigValues } from "../../../config/edit/write.ts";
import type { FoundPlugins } from "../../../plugins/found.ts";
import { askPlugins, takenUp } from "../../ask-plugins.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { chooseSlots, notSelected, putBack, type SlotProblem } from "./choose-slots.ts";

export type PluginInstallFlags = ConsentFlags & SourceFlags & FieldFlags & { readonly json?: boolean };

type SourceFlags = Readonly<Partial<Record<"link" | "pin" | "allowScripts", boolean>>>;

/** Flags of other versions. */
interface FieldFlags {
  readonly marketplace?: string;
  readonly dangerouslyForceUnsafeInstall?: boolean;
  readonly acknowledgeInstallPolicyWarning?: boolean;
}

/** Fetches a plugin, shows what it is, and installs and enables it. 1 when a person says no. */
export async function pluginsInstall(io: Io, text: string, flags: PluginInstallFlags): Promise<number> {
  explainFieldFlags(io, flags);
  const plugins = await requirePluginState(io);
  const source = flags.link === true ? linkSource(text, plugins.where) : parseSource(text, plugins.where);
  const installed = await withStoreLock(plugins.store, async () => installLocked(io, plugins, { source, flags }));
  if (!installed) {
    io.err("Nothing was installed.\n");
    return 1;
  }
  await forgetTrial(plugins.state.paths, installed.facts.id);
  return enableInstalled(io, plugins, { staged: installed, flags });
}

function explainFieldFlags(io: Io, flags: FieldFlags): void {
  if (flags.marketplace !== undefined)
    throw new OpenClawError("USAGE", {
      message: "This gateway uses no plugin marketplace.",
      fix: "Install from npm, from git or from a folder.",
    });
  const note = "has no effect here: what is unsafe is refused, and install scripts run only with --allow-scripts.";
  if (flags.dangerouslyForceUnsafeInstall === true) io.err(`--dangerously-force-unsafe-install ${note}\n`);
}

interface Job {
  readonly source: PluginSource;
  readonly flags: PluginInstallFlags;
}

async function installLocked(io: Io, plugins: PluginCommandState, { source, flags }: Job): Promise<Staged | undefined> {
  const { store } = plugins;
  for (const line of await repairStore(store)) io.err(`${line}\n`);
  const staged = await stageShown(io, plugins, { source, pin: flags.pin === true });
  try {
    refuseTaken(plugins, staged, flags);
    showFacts(io, staged.facts);
    await requireAllowed(io, plugins, staged, {
      mode: "install",
      isAcknowledged: flags.acknowledgeInstallPolicyWarning === true,
    });
    if (!(await hasConsent(io, flags, `Install ${staged.facts.id}?`))) return undefined;
    await requireUsable(plugins, staged);
    await place(store, staged, flags);
    return staged;
  } finally {
    if (staged.draft !== undefined) await settleDraft(store, staged.draft);
  }
}

/** Whether both are the same files from the same source. */
const isSame = (before: InstallRecord | undefined, now: InstallRecord): boolean =>
  before?.source === now.source && before.spec === now.spec && before.files === now.files;

/** Stages a plugin and shows the steps. */
export async function stageShown(
  io: Io,
  { store }: PluginCommandState,
  { source, pin }: { source: PluginSource; pin: boolean },
): Promise<Staged> {
  const steps = new Steps(io);
  try {
    return await stagePlugin(store, source, { pin, step: steps.begin });
  } finally {
    steps.stop();
  }
}

/** Throws `PLUGIN_INVALID` where a plugin that a slot names would be replaced by one that cannot be used. */
export async function requireUsable(plugins: PluginCommandState, { plugin }: Staged): Promise<void> {
  const { found, state } = plugins;
  const { id } = plugin.manifest;
  const there = found.plugins.find(({ manifest }) => manifest.id === id);
  if (!there || !isSelected(state.config.plugins, { id, engines: there.engines })) return;
  const chosen = await slotValuesOf(plugin, await liveOf(plugins), true);
  if (!("why" in chosen)) return;
  throw new OpenClawError("PLUGIN_INVALID", {
    message: `${id} is selected, and stays as it is, because what would replace it cannot be used: ${chosen.why}.`,
    fix: `Correct that, or run \`openclaw plugins disable ${id}\` first.`,
  });
}

/** Puts a staged plugin into place with its record. */
export async function place(store: PluginStore, given: Staged, flags: SourceFlags): Promise<void> {
  const staged = flags.allowScripts === true && given.draft !== undefined ? await runScripts(store, given) : given;
  const { id } = staged.facts;
  const record = { ...staged.record, installedAt: new Date().toISOString() };
  if (staged.draft === undefined) await putRecord(store.records, id, record);
  else await commitDraft(store, { draft: staged.draft, id, record });
}

/** Throws for an id that a bundled extension has, or an installed plugin without `--force`. */
function refuseTaken(
  { found, state }: PluginCommandState,
  { facts: { id }, draft, record }: Staged,
  { force }: PluginInstallFlags,
): void {
  if (BUNDLED_IDS.has(id))
    throw new OpenClawError("PLUGIN_INVALID", {
      message: `${id} is the id of an extension that comes with the gateway.`,
      fix: "Install a plugin with another id.",
    });
  const there = installedAs(found, id);
  if (!there) return;
  const isSameKind = there.isLink === (draft === undefined);
  if (force === true && isSameKind) return;
  // An installation that was interrupted before it enabled the plugin may be repeated.
  if (own(state.config.plugins.entries, id)?.enabled !== true && isSame(own(found.records, id), record)) return;
  throw new OpenClawError("USAGE", {
    message: `${id} is installed already, from ${there.from}.`,
    fix: isSameKind
      ? `Run \`openclaw plugins update ${id}\`, or repeat the command with --force.`
      : `Run \`openclaw plugins uninstall ${id}\` first.`,
  });
}

/** The plugin that an installation would replace; a plugin of a workspace has another place. */
function installedAs({ plugins, records }: FoundPlugins, id: string): { isLink: boolean; from: string } | undefined {
  const there = plugins.find(({ manifest, origin }) => manifest.id === id && origin !== "workspace");
  const record = own(records, id);
  if (!there && !record) return undefined;
  const isLink = record?.source === "link" || there?.origin === "config";
  return { isLink, from: record?.spec ?? there?.root ?? "an unknown source" };
}

interface Installed {
  readonly staged: Staged;
  readonly flags: { readonly json?: boolean; readonly allowScripts?: boolean };
}

/**
 * Turns an installed plugin on in the config, and prints what was changed. One that is a context engine or a memory and cannot be used
 * stays off. Gives the exit code.
 */
async function enableInstalled(io: Io, plugins: PluginCommandState, installed: Installed): Promise<number> {
  const { state } = plugins;
  const { staged } = installed;
  const { id } = staged.facts;
  const before = state.config.plugins;
  const chosen = await chooseSlots(plugins, inPlace(plugins, staged));
  const turned = chosen.isOff ? stayOff(before, id) : switchOn(before, { id }, chosen.values);
  const { edits, lines } = joined(turned, linkOf(plugins, staged));
  await writeConfigValues(state.load, edits);
  const needsRestart =
    state.owner !== undefined &&
    installedAs(plugins.found, id) !== undefined &&
    !(await isRunning(io, plugins, staged));
  const taken = needsRestart || chosen.isOff ? undefined : await takenUp(io, state, id);
  const problem = chosen.problem ?? (taken && (await putBack(plugins, { id, values: chosen.values, taken })));
  const isKnown = taken !== undefined && lines.length === 0;
  const gateway = isKnown ? "The running gateway has this code already." : taken?.says;
  report(io, installed, { lines, needsRestart, problem, gateway });
  return problem ? 1 : 0;
}

interface Done {
  readonly lines: readonly string[];
  readonly needsRestart: boolean;
  readonly problem: SlotProblem | undefined;
  /** The answer of the running gateway. */
  readonly gateway: string | undefined;
}

function report(io: Io, { staged, flags }: Installed, { lines, needsRestart, problem, gateway }: Done): void {
  const { id, version } = staged.facts;
  if (flags.json === true) {
    writeJson(io, { id, version, record: staged.record, changes: lines, needsRestart, ...defined({ problem }) });
    return;
  }
  noteScripts(io, staged, flags);
  for (const line of lines) io.out(`${line}\n`);
  io.out(`Installed plugin: ${id}\n`);
  if (problem) io.err(`${withoutTerminalControls(notSelected(id, problem))}\n`);
  else if (needsRestart) io.out(`${RESTART}\n`);
  else if (gateway !== undefined) io.out(`${gateway}\n`);
}

/** A plugin after it was put into place. */
const inPlace = ({ store }: PluginCommandState, { draft, plugin, facts: { id } }: Staged): FoundPlugin =>
  draft === undefined ? plugin : { ...plugin, root: join(store.extensions, id) };

/** One that was on before stays on. */
function stayOff(config: PluginsConfig, id: string): ConfigSwitch {
  if (own(config.entries, id)?.enabled !== undefined) return { edits: [], lines: [] };
  return {
    edits: [{ path: ["plugins", "entries", id, "enabled"], value: false }],
    lines: [`Set plugins.entries.${id}.enabled to false.`],
  };
}

/** Whether the gateway has run the same code since the installation before this one, so that it has nothing new to load. */
async function isRunning(io: Io, { found }: PluginCommandState, { facts: { id }, record }: Staged): Promise<boolean> {
  const before = own(found.records, id);
  if (before?.files === undefined || before.files !== record.files || before.installedAt === undefined) return false;
  const running = (await askPlugins(io))?.records.find((one) => one.id === id);
  return running?.codeSince !== undefined && running.codeSince >= Date.parse(before.installedAt);
}

/** Native packages often need their scripts; without them they fail when they are loaded. */
function noteScripts(io: Io, { facts: { id, risks } }: Staged, { allowScripts }: Installed["flags"]): void {
  if (allowScripts === true || risks.scriptedDependencies.length === 0) return;
  const names = withoutTerminalControls(risks.scriptedDependencies.join(", "));
  io.err(
    `The install scripts of ${names} did not run. If ${id} does not load, install it again with --allow-scripts.\n`,
  );
}

/** The folder of a linked plugin in the config, unless it is there. */
function linkOf({ found }: PluginCommandState, { draft, plugin }: Staged): ConfigSwitch {
  const { loadPaths } = found;
  if (draft !== undefined || loadPaths.includes(plugin.root)) return { edits: [], lines: [] };
  return {
    edits: [{ path: ["plugins", "load", "paths", loadPaths.length], value: plugin.root }],
    lines: [`Added ${plugin.root} to plugins.load.paths.`],
  };
}

const joined = (a: ConfigSwitch, b: ConfigSwitch): ConfigSwitch => ({
  edits: [...a.edits, ...b.edits],
  lines: [...a.lines, ...b.lines],
});
