import { lstat } from "node:fs/promises";
import { basename, join } from "node:path";
import { unlessMissing } from "../../utils/missing.ts";
import { invalid, unsafe } from "../install/refusals.ts";
import { isPluginId } from "../manifest/parse-manifest.ts";
import { MANIFEST } from "../manifest/read-plugin.ts";
import { type FoundHook, findHooks } from "./find-hooks.ts";
import { type HookPack, packOf } from "./hook-pack.ts";

/** What a fetched folder holds. */
export interface PackContent {
  /** Name of its folder in `hooks/`. */
  readonly id: string;
  readonly hooks: readonly FoundHook[];
  readonly pack: HookPack;
}

/** The hooks of a fetched folder; undefined for a plugin. `asked`: the package of a registry. Throws `PLUGIN_INVALID` and `PLUGIN_UNSAFE`. */
export async function packContent(root: string, asked: string | undefined): Promise<PackContent | undefined> {
  if (await unlessMissing(lstat(join(root, MANIFEST)))) return undefined;
  const { hooks, leftOut } = await findHooks([{ source: "managed", dir: root, isHook: true }]);
  const [bad] = leftOut;
  if (bad) throw invalid(`${basename(bad.folder)} cannot be used as a hook: ${bad.why}.`);
  if (hooks.length === 0)
    throw invalid(
      "It holds no hook: there is no HOOK.md, and its package.json names no openclaw.hooks.",
      "Install a hook.",
    );
  const pack = await packOf(root);
  if (asked !== undefined) refuseOther(asked, pack.name);
  return { id: idOf(pack, hooks), hooks, pack };
}

/** The registry answered with another package. */
function refuseOther(spec: string, name: string | undefined): void {
  const asked = spec.replace(/(?<=.)@.*$/, "");
  if (name !== asked)
    throw unsafe(`The registry has given another package for ${asked}: ${name ?? "one without a name"}.`);
}

/** A pack has the name of its package, another hook its own. */
function idOf({ name }: HookPack, hooks: readonly FoundHook[]): string {
  const id = name?.replace(/^@[^/]*\//, "") ?? hooks[0]?.name ?? "";
  if (isPluginId(id)) return id;
  throw invalid(`"${id}" cannot be the name of a folder of hooks.`);
}
