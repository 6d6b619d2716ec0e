import { realpath, rename, lstat } from "node:fs/promises";
import { join, basename } from "node:path";
import type { InstallRecord } from "../../types/plugin/install-record.ts";
import { defined } from "../../utils/defined.ts";
import { fetchDependencies } from "../install/dependencies.ts";
import type { StagedOrigin } from "../install/facts.ts";
import { fetchSource, type FetchJob } from "../install/fetch.ts";
import { linkHost } from "../install/host-link.ts";
import { ARCHIVE_LIMITS } from "../install/paths.ts";
import { sourceText } from "../install/source.ts";
import { makeDraft, type PluginStore } from "../install/store.ts";
import { abandonDraft } from "../install/swap.ts";
import { hashTree, readTree } from "../install/tree.ts";
import { unlessMissing } from "../../utils/missing.ts";
import { invalid, unsafe } from "../install/refusals.ts";
import { isPluginId } from "../manifest/parse-manifest.ts";
import { MANIFEST } from "../manifest/read-plugin.ts";
import { type FoundHook, findHooks } from "./find-hooks.ts";
import { type HookPack, packOf } from "./hook-pack.ts";

/** Hooks that are ready to be put into place. */
export interface StagedPack extends PackContent {
  /** The folder of this installation; the hooks are in `plugin/`. */
  readonly draft: string;
  readonly root: string;
  readonly origin: StagedOrigin;
  readonly size: { readonly files: number; readonly bytes: number };
  /** Record without the time of the installation. */
  readonly record: InstallRecord;
}

/**
 * Fetches a hook, or a pack of hooks, into a draft and checks it, without running its code. Undefined when it is a plugin. Throws
 * `PLUGIN_INVALID`, `PLUGIN_UNSAFE` and `PLUGIN_FETCH`. Without a result no draft is left.
 */
export async function stagePack(
  store: PluginStore,
  source: FetchJob["source"],
  step: (label: string) => void,
): Promise<StagedPack | undefined> {
  const draft = await realpath(await makeDraft(store));
  try {
    const filled = await fill(store, { draft, source }, step);
    if (!filled) await abandonDraft(store, draft, undefined);
    return filled;
  } catch (error) {
    throw await abandonDraft(store, draft, error);
  }
}

async function fill(
  store: PluginStore,
  { draft, source }: Pick<FetchJob, "draft" | "source">,
  step: (label: string) => void,
): Promise<StagedPack | undefined> {
  const { folder: fetched, origin } = await fetchSource(
    store.programs,
    { draft, source, limits: ARCHIVE_LIMITS },
    step,
  );
  const root = join(draft, "plugin");
  await rename(fetched, root);
  await readTree(root, ARCHIVE_LIMITS);
  const content = await packContent(root, source.kind === "npm" ? source.spec : undefined);
  if (!content) return undefined;
  if (source.kind !== "path") {
    step("Fetching its dependencies with npm");
    await fetchDependencies(store.programs, root, join(draft, "npm"));
  }
  const entries = await readTree(root, ARCHIVE_LIMITS);
  const files = await hashTree(root, entries);
  await linkHost(root, store.packageRoot);
  const { integrity, resolvedCommit } = origin;
  const from = { source: source.kind, spec: sourceText(source) };
  const record = { ...from, files, ...defined({ version: content.pack.version, integrity, resolvedCommit }) };
  const sizes = entries.flatMap((entry) => (entry.kind === "file" ? [entry.bytes] : []));
  const size = { files: sizes.length, bytes: sizes.reduce((sum, bytes) => sum + bytes, 0) };
  return { ...content, draft, root, origin, size, record };
}

/** Content of a fetched folder. */
interface PackContent {
  /** Name of the pack's folder in `hooks/`. */
  readonly id: string;
  readonly hooks: readonly FoundHook[];
  readonly pack: HookPack;
}

/**
 * The hooks of a fetched folder; undefined for a plugin. `asked`: the package of a registry. Throws `PLUGIN_INVALID`
 * and `PLUGIN_UNSAFE`.
 */
async function packContent(root: string, asked: string | undefined): Promise<PackContent | undefined> {
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
