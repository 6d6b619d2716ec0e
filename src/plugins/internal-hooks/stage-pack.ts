import { realpath, rename } from "node:fs/promises";
import { join } from "node:path";
import type { InstallRecord } from "../../types/plugin/install-record.ts";
import { defined } from "../../utils/defined.ts";
import { fetchDependencies } from "../install/dependencies.ts";
import type { Origin } from "../install/facts.ts";
import { fetchSource, type Job } from "../install/fetch.ts";
import { linkHost } from "../install/host-link.ts";
import { ARCHIVE_LIMITS } from "../install/paths.ts";
import { sourceText } from "../install/source.ts";
import { makeDraft, type PluginStore } from "../install/store.ts";
import { abandonDraft } from "../install/swap.ts";
import { hashTree, readTree } from "../install/tree.ts";
import { packContent, type PackContent } from "./pack-content.ts";

/** Hooks that are ready to be put into place. */
export interface StagedPack extends PackContent {
  /** The folder of this installation; the hooks are in `plugin/`. */
  readonly draft: string;
  readonly root: string;
  readonly origin: Origin;
  readonly size: { readonly files: number; readonly bytes: number };
  /** Without the time of the installation. */
  readonly record: InstallRecord;
}

/**
 * Fetches a hook, or a pack of hooks, into a draft and checks it, without running its code. Undefined when it is a plugin. Throws
 * `PLUGIN_INVALID`, `PLUGIN_UNSAFE` and `PLUGIN_FETCH`. Without a result no draft is left.
 */
export async function stagePack(
  store: PluginStore,
  source: Job["source"],
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
  { draft, source }: Job,
  step: (label: string) => void,
): Promise<StagedPack | undefined> {
  const { folder: fetched, origin } = await fetchSource(store.programs, { draft, source }, step);
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
