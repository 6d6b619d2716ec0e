import { tmpdir } from "node:os";
import { latestCommit } from "../../../../plugins/install/git.ts";
import { viewPackage } from "../../../../plugins/install/npm.ts";
import { unsafe } from "../../../../plugins/install/refusals.ts";
import { sourceOfRecord, type PluginSource } from "../../../../plugins/install/source.ts";
import type { Staged } from "../../../../plugins/install/stage.ts";
import type { PluginStore } from "../../../../plugins/install/store.ts";
import { repairStore, settleDraft, withStoreLock } from "../../../../plugins/install/swap.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import type { InstallRecord } from "../../../../types/plugin/install-record.ts";
import { own } from "../../../../utils/own.ts";
import { printFailure } from "../../failure.ts";
import { writeJson, type Io } from "../../io.ts";
import { hasConsent, showFacts, showNews, type ConsentFlags } from "./consent.ts";
import { requireAllowed } from "./judge-install.ts";
import { noPlugin, readPluginState, RESTART, type PluginCommandState } from "./plugin-state.ts";
import { place, requireUsable, stageShown } from "./plugins-install.ts";

export type UpdateFlags = ConsentFlags & Choice & { readonly json?: boolean; readonly allowScripts?: boolean };

interface Choice {
  readonly all?: boolean;
  readonly dryRun?: boolean;
}

type Outcome = "updated" | "available" | "current" | "refused" | "failed" | "linked";

interface Updated {
  readonly id: string;
  readonly outcome: Outcome;
  readonly before?: string;
  readonly after?: string;
}

/** Updates plugins from where they were installed. 1 when one failed or a person said no. Throws `NOT_FOUND` and `USAGE`. */
export async function pluginsUpdate(io: Io, id: string | undefined, flags: UpdateFlags): Promise<number> {
  const plugins = await readPluginState(io);
  const ids = chosen(plugins, id, flags);
  const done = await withStoreLock(plugins.store, async () => {
    for (const line of await repairStore(plugins.store)) io.err(`${line}\n`);
    const updated: Updated[] = [];
    for (const one of ids) updated.push(await updateOne(io, plugins, { id: one, flags, isOnly: ids.length === 1 }));
    return updated;
  });
  if (flags.json === true) writeJson(io, { plugins: done });
  else for (const one of done) io.out(`${sentenceOf(one)}\n`);
  const hasChanged = done.some(({ outcome }) => outcome === "updated");
  if (hasChanged && flags.json !== true && plugins.state.owner) io.out(`${RESTART}\n`);
  return done.some(({ outcome }) => outcome === "failed" || outcome === "refused") ? 1 : 0;
}

function chosen(plugins: PluginCommandState, id: string | undefined, { all }: Choice): readonly string[] {
  if (all === true) return Object.keys(plugins.found.records);
  if (id === undefined)
    throw new OpenClawError("USAGE", { message: "Which plugin is missing.", fix: "Give its id, or --all." });
  if (own(plugins.found.records, id)) return [id];
  if (!plugins.found.plugins.some(({ manifest }) => manifest.id === id)) throw noPlugin(plugins, id);
  throw new OpenClawError("USAGE", {
    message: `Nothing is known of where ${id} came from.`,
    fix: "Install it again from its source with --force.",
  });
}

interface Job {
  readonly id: string;
  readonly flags: UpdateFlags;
  /** The only one: its failure is the command's. */
  readonly isOnly: boolean;
}

async function updateOne(io: Io, plugins: PluginCommandState, job: Job): Promise<Updated> {
  const { id } = job;
  const record = own(plugins.found.records, id) ?? { source: "unknown" };
  const before = record.version === undefined ? {} : { before: record.version };
  try {
    const source = sourceOfRecord(record, plugins.where);
    if (!source) return { id, outcome: record.source === "link" ? "linked" : "failed", ...before };
    const news = await newsOf(plugins.store, source, record);
    if (news.isCurrent) return { id, outcome: "current", ...before };
    if (job.flags.dryRun === true && news.version !== undefined)
      return { id, outcome: "available", ...before, after: news.version };
    return { ...before, ...(await replace(io, plugins, { ...job, source, record })) };
  } catch (error) {
    if (job.isOnly || !(error instanceof OpenClawError)) throw error;
    printFailure(io, error);
    return { id, outcome: "failed", ...before };
  }
}

interface News {
  /** Nothing has to be fetched. */
  readonly isCurrent: boolean;
  /** The version that would be fetched; undefined where only the fetch shows it. */
  readonly version?: string;
}

/** Throws `PLUGIN_UNSAFE` when the registry has other content under the installed version. */
async function newsOf(store: PluginStore, source: PluginSource, record: InstallRecord): Promise<News> {
  if (source.kind === "npm") {
    const { version, integrity } = await viewPackage(store.programs, source.spec, tmpdir());
    const isSame = version === record.version;
    if (isSame && integrity !== undefined && record.integrity !== undefined && integrity !== record.integrity)
      throw unsafe(`The registry has other content under ${source.spec} than was installed as version ${version}.`);
    return { isCurrent: isSame, version };
  }
  if (source.kind !== "git") return { isCurrent: false };
  const commit = await latestCommit(store.programs, source, tmpdir());
  const isSame = commit === undefined || commit === record.resolvedCommit;
  return { isCurrent: isSame && record.resolvedCommit !== undefined, ...(commit !== undefined && { version: commit }) };
}

interface Replacement extends Job {
  readonly source: PluginSource;
  readonly record: InstallRecord;
}

async function replace(
  io: Io,
  plugins: PluginCommandState,
  { id, flags, source, record }: Replacement,
): Promise<Updated> {
  const staged = await stageShown(io, plugins, { source, pin: false });
  try {
    refuseOther(staged, id);
    const { version } = staged.facts;
    const after = version === undefined ? {} : { after: version };
    if (staged.record.files === record.files) return { id, outcome: "current" };
    if (flags.dryRun === true) return { id, outcome: "available", ...after };
    showFacts(io, staged.facts, record.version ?? "an unknown version");
    showNews(
      io,
      staged.facts,
      plugins.found.plugins.find(({ manifest }) => manifest.id === id),
    );
    await requireAllowed(io, plugins, staged, { mode: "update", isAcknowledged: false });
    if (!(await hasConsent(io, flags, `Update ${id}?`))) return { id, outcome: "refused" };
    await requireUsable(plugins, staged);
    await place(plugins.store, staged, flags);
    return { id, outcome: "updated", ...after };
  } finally {
    if (staged.draft !== undefined) await settleDraft(plugins.store, staged.draft);
  }
}

function refuseOther({ facts }: Staged, id: string): void {
  if (facts.id !== id) throw unsafe(`The source of ${id} now holds another plugin, ${facts.id}.`);
}

const TEXTS: Readonly<Record<Outcome, (updated: Updated) => string>> = {
  updated: ({ id, before, after }) => `Updated plugin: ${id} (${before ?? "?"} -> ${after ?? "?"})`,
  available: ({ id, before, after }) => `${id} can be updated (${before ?? "?"} -> ${after ?? "?"})`,
  current: ({ id, before }) => `${id} is up to date${before === undefined ? "" : ` (${before})`}`,
  refused: ({ id }) => `${id} was not updated`,
  failed: ({ id }) => `${id} could not be updated; it is as it was`,
  linked: ({ id }) => `${id} is a linked folder: it is as its folder is`,
};

const sentenceOf = (updated: Updated): string => TEXTS[updated.outcome](updated);
