import { realpath, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { FoundPlugin, PluginOrigin } from "../../types/plugin/manifest.ts";
import type { InstallRecord } from "../../types/plugin/install-record.ts";
import { defined } from "../../utils/defined.ts";
import { MANIFEST, readPlugin } from "../manifest/read-plugin.ts";
import { apiTooOld } from "../sdk-version.ts";
import { fetchDependencies, runInstallScripts, scriptedDependencies } from "./dependencies.ts";
import { stagedFacts, versionOf, type StagedOrigin, type PluginFacts } from "./facts.ts";
import { fetchSource, type FetchJob } from "./fetch.ts";
import { linkHost } from "./host-link.ts";
import { ARCHIVE_LIMITS, FOLDER_LIMITS } from "./paths.ts";
import { invalid, unsafe } from "./refusals.ts";
import { sourceText, type PluginSource } from "./source.ts";
import { makeDraft, type PluginStore } from "./store.ts";
import { abandonDraft } from "./swap.ts";
import { hashTree, HOST_LINK, readTree } from "./tree.ts";

/** A plugin that is ready to be put into place, or, for a link, to be named in the config. */
export interface Staged {
  /** The folder of this installation; undefined for a link. The plugin is in `plugin/`. */
  readonly draft?: string;
  readonly plugin: FoundPlugin;
  readonly facts: PluginFacts;
  /** Record without the time of the installation. */
  readonly record: InstallRecord;
}

export interface StageOptions {
  /** The record names the exact version or commit, so that no update changes it. */
  readonly pin: boolean;
  /** Called before each step that may take long, with what happens, such as `Fetching x with npm`. */
  readonly step: (label: string) => void;
}

/**
 * Fetches a plugin into a draft and checks it, without running its code. Throws `PLUGIN_INVALID`, `PLUGIN_UNSAFE` and
 * `PLUGIN_FETCH`; then no draft is left.
 */
export async function stagePlugin(store: PluginStore, source: PluginSource, options: StageOptions): Promise<Staged> {
  if (source.kind === "link") return stageLink(source);
  const draft = await realpath(await makeDraft(store));
  try {
    return { draft, ...(await fill(store, { draft, source }, options)) };
  } catch (error) {
    throw await abandonDraft(store, draft, error);
  }
}

async function stageLink(source: PluginSource & { kind: "link" }): Promise<Staged> {
  const plugin = await readValid(source.path, "config");
  const entries = await readTree(plugin.root, FOLDER_LIMITS);
  const record = recordOf({ kind: "link", path: plugin.root }, plugin, {});
  return { plugin, facts: stagedFacts(plugin, entries, { from: `the folder ${plugin.root}` }), record };
}

async function fill(
  store: PluginStore,
  { draft, source }: Pick<FetchJob, "draft" | "source">,
  options: StageOptions,
): Promise<Omit<Staged, "draft">> {
  const fetched = await fetchSource(store.programs, { draft, source, limits: ARCHIVE_LIMITS }, options.step);
  const folder = join(draft, "plugin");
  await rename(fetched.folder, folder);
  await readTree(folder, source.kind === "path" ? FOLDER_LIMITS : ARCHIVE_LIMITS);
  const plugin = await readValid(folder, "global");
  if (source.kind === "npm") refuseOtherName(source.spec, plugin.package.name);
  if (hasNpm(source)) {
    options.step(`Fetching the dependencies of ${plugin.manifest.id} with npm`);
    await fetchDependencies(store.programs, folder, join(draft, "npm"));
  }
  const entries = await readTree(folder, FOLDER_LIMITS);
  const files = await hashTree(folder, entries);
  await linkHost(folder, store.packageRoot);
  const facts = stagedFacts(plugin, entries, fetched.origin);
  const scripts = await scriptedDependencies(folder);
  const record = recordOf(options.pin ? pinned(source, plugin, fetched.origin) : source, plugin, {
    ...fetched.origin,
    files,
  });
  return { plugin, record, facts: { ...facts, risks: { ...facts.risks, scriptedDependencies: scripts } } };
}

/** Runs the install scripts that the operator allowed, of the plugin and of its dependencies. Throws `PLUGIN_FETCH`. */
export async function runScripts({ programs, packageRoot }: PluginStore, staged: Staged): Promise<Staged> {
  const { root } = staged.plugin;
  // npm would also run the scripts of a linked package.
  await rm(join(root, HOST_LINK), { recursive: true, force: true });
  await runInstallScripts(programs, root);
  await linkHost(root, packageRoot);
  const files = await hashTree(root, await readTree(root, FOLDER_LIMITS));
  return { ...staged, record: { ...staged.record, files } };
}

const hasNpm = (source: FetchJob["source"]): boolean =>
  source.kind === "npm" || source.kind === "git" || (source.kind === "archive" && source.hasNpm);

/** The registry answered for a package with the archive of another one, whose hash may well be right. */
function refuseOtherName(spec: string, name: string | undefined): void {
  const asked = spec.replace(/(?<=.)@.*$/, "");
  if (name !== asked)
    throw unsafe(`The registry has given another package for ${asked}: ${name ?? "one without a name"}.`);
}

/** Throws `PLUGIN_INVALID` for a folder whose plugin could not be loaded. */
async function readValid(folder: string, origin: PluginOrigin): Promise<FoundPlugin> {
  const read = await readPlugin(folder, origin);
  if (read.kind === "none")
    throw invalid(
      `It is no plugin: its folder has no ${MANIFEST}.`,
      "Install a plugin for OpenClaw; hooks are installed with: openclaw hooks install <source>",
    );
  if (read.kind === "broken") throw invalid(`The plugin cannot be used: ${read.broken.why}.`);
  const floor = apiTooOld(read.plugin);
  if (floor !== undefined)
    throw invalid(
      `${read.plugin.manifest.id} cannot be used: ${floor}.`,
      "Update the gateway, or install an older version of it.",
    );
  return read.plugin;
}

/** The same source, fixed to the version or commit that was fetched now. */
function pinned(source: FetchJob["source"], plugin: FoundPlugin, { resolvedCommit }: StagedOrigin): FetchJob["source"] {
  const { name, version } = plugin.package;
  if (source.kind === "npm" && name !== undefined && version !== undefined)
    return { kind: "npm", spec: `${name}@${version}` };
  if (source.kind === "git" && resolvedCommit !== undefined) return { ...source, ref: resolvedCommit };
  return source;
}

const recordOf = (
  source: PluginSource,
  plugin: FoundPlugin,
  { integrity, resolvedCommit, files }: { integrity?: string; resolvedCommit?: string; files?: string },
): InstallRecord => ({
  source: source.kind,
  spec: sourceText(source),
  ...defined({ version: versionOf(plugin), integrity, resolvedCommit, files }),
});
