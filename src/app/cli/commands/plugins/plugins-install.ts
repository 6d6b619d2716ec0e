import { linkSource, parseSource, type PluginSource } from "../../../../plugins/install/source.ts";
import { runScripts, stagePlugin, type Staged } from "../../../../plugins/install/stage.ts";
import { isSelected } from "../../../../plugins/install/switches.ts";
import { putRecord } from "../../../../plugins/install/records.ts";
import { commitDraft, repairStore, settleDraft, withStoreLock } from "../../../../plugins/install/swap.ts";
import type { PluginStore } from "../../../../plugins/install/store.ts";
import { forgetTrial } from "../../../../plugins/trial/trials.ts";
import type { InstallRecord } from "../../../../types/plugin/install-record.ts";
import { own } from "../../../../utils/own.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { slotValuesOf } from "../../../plugins/select.ts";
import { BUNDLED_IDS } from "../../../contributions/extensions.ts";
import type { Io } from "../../io.ts";
import { hasConsent, showFacts, type ConsentFlags } from "./consent.ts";
import { requireAllowed } from "./judge-install.ts";
import { enableInstalled, installedAs } from "./enable-installed.ts";
import { liveOf, requirePluginState, type PluginState } from "./plugin-state.ts";
import { Steps } from "./steps.ts";

export type InstallFlags = ConsentFlags & SourceFlags & FieldFlags & { readonly json?: boolean };

type SourceFlags = Readonly<Partial<Record<"link" | "pin" | "allowScripts", boolean>>>;

/** Flags of other versions. */
interface FieldFlags {
  readonly marketplace?: string;
  readonly dangerouslyForceUnsafeInstall?: boolean;
  readonly acknowledgeInstallPolicyWarning?: boolean;
}

/** Fetches a plugin, shows what it is, and installs and enables it. 1 when a person says no. */
export async function pluginsInstall(io: Io, text: string, flags: InstallFlags): Promise<number> {
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
  if (flags.acknowledgeInstallPolicyWarning === true) io.err(`--acknowledge-install-policy-warning ${note}\n`);
}

interface Job {
  readonly source: PluginSource;
  readonly flags: InstallFlags;
}

async function installLocked(io: Io, plugins: PluginState, { source, flags }: Job): Promise<Staged | undefined> {
  const { store } = plugins;
  for (const line of await repairStore(store)) io.err(`${line}\n`);
  const staged = await stageShown(io, plugins, { source, pin: flags.pin === true });
  try {
    refuseTaken(plugins, staged, flags);
    showFacts(io, staged.facts);
    await requireAllowed(io, plugins, staged, "install");
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
  { store }: PluginState,
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
export async function requireUsable(plugins: PluginState, { plugin }: Staged): Promise<void> {
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
  { found, state }: PluginState,
  { facts: { id }, draft, record }: Staged,
  { force }: InstallFlags,
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
