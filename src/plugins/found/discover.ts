import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { BrokenPlugin, FoundPlugin, PluginOrigin } from "../../types/plugin/manifest.ts";
import { own } from "../../utils/own.ts";
import { readPlugin, type ReadPlugin } from "../manifest/read-plugin.ts";

/** Where plugins are looked for; all paths are absolute. */
export interface PluginPlaces {
  /** `plugins.load.paths`: folders of plugins, or folders that hold such folders. */
  readonly loadPaths: readonly string[];
  /** `.openclaw/extensions` of the agents' workspaces. */
  readonly workspaceDirs: readonly string[];
  /** `extensions/` of the state directory. */
  readonly globalDir: string;
  /** Ids with an install record: they have priority over folders that somebody put into `extensions/` by hand. */
  readonly installedIds: ReadonlySet<string>;
  /** Ids of the bundled extensions, which no plugin can replace. */
  readonly bundledIds: ReadonlySet<string>;
  /** The context engines that plugins registered at their last trial, by the plugins' ids. */
  readonly engines: Readonly<Record<string, readonly string[]>>;
}

export interface Discovered {
  /** A plugin for each id, the preferred one where there are several. */
  readonly plugins: readonly FoundPlugin[];
  readonly broken: readonly BrokenPlugin[];
}

/** Finds all plugins and reads their manifests. Runs none of their code. Never rejects. */
export async function discoverPlugins(places: PluginPlaces): Promise<Discovered> {
  const read = (await Promise.all(foldersOf(places))).flat();
  const broken = read.flatMap((one) => (one.kind === "broken" ? [one.broken] : []));
  const found = read.flatMap((one) => (one.kind === "found" ? [one.plugin] : []));
  const byId = new Map<string, FoundPlugin>();
  for (const plugin of found.toSorted((a, b) => rankOf(a, places) - rankOf(b, places))) {
    const { id } = plugin.manifest;
    const first = byId.get(id);
    if (places.bundledIds.has(id)) broken.push(hidden(plugin, "a bundled extension has this id"));
    else if (!first) byId.set(id, { ...plugin, engines: own(places.engines, id) ?? [] });
    else if (first.root !== plugin.root)
      broken.push(hidden(plugin, `${first.root} has the same id and priority over it`));
  }
  return { plugins: [...byId.values()], broken };
}

function foldersOf({ loadPaths, workspaceDirs, globalDir }: PluginPlaces): readonly Promise<readonly ReadPlugin[]>[] {
  return [
    ...loadPaths.map(async (path) => readNamed(path)),
    ...workspaceDirs.map(async (dir) => readBelow(dir, "workspace")),
    readBelow(globalDir, "global"),
  ];
}

/** A path that the operator wrote: a plugin, or a folder of plugins. When it is neither, that is reported. */
async function readNamed(path: string): Promise<readonly ReadPlugin[]> {
  const itself = await readPlugin(path, "config");
  if (itself.kind !== "none") return [itself];
  const below = await readBelow(path, "config");
  if (below.length > 0) return below;
  return [
    { kind: "broken", broken: { id: path, root: path, origin: "config", why: "there is no openclaw.plugin.json" } },
  ];
}

/** Files at the top, and folders that an installation is still being prepared in, are no plugins. */
async function readBelow(dir: string, origin: PluginOrigin): Promise<readonly ReadPlugin[]> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
  const folders = entries.filter(
    (entry) => (entry.isDirectory() || entry.isSymbolicLink()) && !entry.name.startsWith("."),
  );
  const read = await Promise.all(folders.map(({ name }) => readPlugin(join(dir, name), origin)));
  return read.filter(({ kind }) => kind !== "none");
}

/**
 * Rank of a plugin's place: a path of the config, then installed plugins, then folders put into `extensions/` by hand,
 * then workspaces. The field puts workspaces before such folders; but an agent writes into its workspace, and must not
 * replace the code of a plugin that is on.
 */
function rankOf({ origin, manifest }: FoundPlugin, { installedIds }: PluginPlaces): number {
  if (origin === "config") return 0;
  if (origin === "workspace") return 3;
  return installedIds.has(manifest.id) ? 1 : 2;
}

const hidden = ({ manifest, root, origin }: FoundPlugin, why: string): BrokenPlugin => ({
  id: manifest.id,
  root,
  origin,
  why,
});
