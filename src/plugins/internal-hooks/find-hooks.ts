import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { unlessMissing } from "../../utils/missing.ts";
import { isInside } from "../../utils/real-path.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { packOf } from "./hook-pack.ts";
import { type BadHook, type HookFile, readHook } from "./hook-file.ts";

/** Where a hook comes from. `managed`: `hooks/` of the state directory, and `hooks.internal.load.extraDirs`. */
export type HookSource = "bundled" | "plugin" | "managed" | "workspace";

/** A folder in which hooks are looked for. */
export interface HookRoot {
  readonly source: HookSource;
  /** Absolute. Each folder in it may be a hook; with `isHook` it may also be one itself. */
  readonly dir: string;
  readonly isHook?: true;
  /** The agent of the workspace: its hooks get the events of this agent alone. */
  readonly agent?: string;
  /** The plugin that the folder belongs to. */
  readonly plugin?: string;
}

/** A hook, with the place that it was found in. */
export interface FoundHook extends HookFile {
  readonly root: HookRoot;
}

/** A folder that is no hook, or that another hook of the name is preferred to. */
export interface LeftOutHook extends BadHook {
  readonly source: HookSource;
  /** Its name, where it can be read. */
  readonly name?: string;
}

export interface FoundHooks {
  /** One for each name. */
  readonly hooks: readonly FoundHook[];
  readonly leftOut: readonly LeftOutHook[];
}

/** Folders of one root that are looked at, in the order of their names. */
const MOST_FOLDERS = 300;

/**
 * Finds the hooks of all roots, and reads what their `HOOK.md` says. An earlier root is preferred, but for managed hooks, which may
 * replace bundled ones and those of plugins. Runs none of their code. Never rejects.
 */
export async function findHooks(roots: readonly HookRoot[]): Promise<FoundHooks> {
  const read = await Promise.all(roots.map(async (root) => ({ root, found: await hooksIn(root) })));
  const leftOut: LeftOutHook[] = [];
  const byName = new Map<string, FoundHook>();
  for (const { root, found } of read) {
    for (const one of found) {
      if ("why" in one) leftOut.push({ ...one, source: root.source });
      else place({ ...one, root }, byName, leftOut);
    }
  }
  return { hooks: [...byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)), leftOut };
}

function place(hook: FoundHook, byName: Map<string, FoundHook>, leftOut: LeftOutHook[]): void {
  const before = byName.get(hook.name);
  const replaces =
    hook.root.source === "managed" && (before?.root.source === "bundled" || before?.root.source === "plugin");
  if (!before || replaces) byName.set(hook.name, hook);
  if (!before || before.folder === hook.folder) return;
  const [used, other] = replaces ? [hook, before] : [before, hook];
  const why = `${used.folder} has a hook of the same name, which is used`;
  leftOut.push({ folder: other.folder, name: other.name, source: other.root.source, why });
}

async function hooksIn({ dir, isHook }: HookRoot): Promise<readonly (HookFile | BadHook)[]> {
  try {
    const own = isHook === true ? await hooksAt(dir) : [];
    if (own.length > 0) return own;
    const entries = (await unlessMissing(readdir(dir))) ?? [];
    const names = entries.filter((name) => !name.startsWith(".")).toSorted();
    const found = await Promise.all(names.slice(0, MOST_FOLDERS).map((name) => hooksAt(join(dir, name))));
    const why = `only ${MOST_FOLDERS} of its ${names.length} entries are looked at`;
    return [...found.flat(), ...(names.length > MOST_FOLDERS ? [{ folder: dir, why }] : [])];
  } catch (error) {
    return [{ folder: dir, why: `it cannot be read: ${errorText(error)}` }];
  }
}

/** The hook of a folder, or those of a pack: an npm package that names the folders of its hooks. */
async function hooksAt(folder: string): Promise<readonly (HookFile | BadHook)[]> {
  const own = await readHook(folder);
  if (own) return [own];
  const { hooks: named } = await packOf(folder);
  const read = await Promise.all(
    named.map(async (name) => {
      const path = resolve(folder, name);
      if (!isInside(path, folder)) return { folder, why: `its package.json names ${name}, which is not in it` };
      return (
        (await readHook(path)) ?? {
          folder: path,
          why: "the package.json above names it as a hook, and it has no HOOK.md",
        }
      );
    }),
  );
  return read;
}
