import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDiskError, removeUnfinished } from "../../store/disk.ts";
import { openJournal } from "../../store/journal/journal.ts";
import { instancePath, readInstance } from "../../store/lock/instance.ts";
import { acquireStateLock, readStateLock } from "../../store/lock/lock.ts";
import { OpenClawError } from "../../types/errors.ts";
import type { Env } from "../../utils/env.ts";
import { errorCode, unlessMissing } from "../../utils/missing.ts";
import { errorText } from "../../utils/text/error-text.ts";
import type { LoadOptions } from "../config/load.ts";
import { journalPath, makeStateDirs, type StatePaths } from "../config/paths.ts";
import { defaultAgentIn, readTargetValue } from "./frame/target.ts";
import type { ImportKind, Item, KindPlan, Left, OpenTarget, Target } from "./frame/kind.ts";
import { IMPORT_KINDS } from "./kinds.ts";
import {
  openReceipts,
  readReceipts,
  receiptName,
  type ItemOutcome,
  type ItemReceipt,
  type ReceiptBook,
} from "./frame/receipts.ts";
import { findSource, openSource, SourceDatabases, type ImportSource } from "./frame/source.ts";
import { SourceFault } from "./frame/source-file.ts";

export interface ImportOptions {
  /** The directory that a person named. */
  readonly from: string | undefined;
  readonly paths: StatePaths;
  readonly load: LoadOptions;
  readonly env: Env;
  /** Plans only: nothing is written. `for-gateway`: the gateway asks that runs on the target, and that will stop for the import. */
  readonly dryRun: boolean | "for-gateway";
  /** Told while items of a kind are taken. */
  onProgress(title: string, done: number, all: number): void;
}

/** `taken` or, in a dry run, `new`; `there`: an earlier import took it; `left`: it stays behind; `failed`: it could not be read or written. */
export type ItemState = "new" | "taken" | "there" | "left" | "failed";

export interface ImportedItem {
  readonly id: string;
  readonly name: string;
  readonly state: ItemState;
  readonly made?: string;
  /** Why it was left, or has failed. */
  readonly why?: string;
  readonly notes: readonly string[];
}

export interface ImportedKind {
  readonly kind: string;
  readonly title: string;
  readonly items: readonly ImportedItem[];
  /** What stays behind, and why. */
  readonly left: readonly Left[];
}

export interface ImportReport {
  readonly source: string;
  readonly target: string;
  readonly era: ImportSource["era"];
  readonly dryRun: boolean;
  readonly warnings: readonly string[];
  /** What could not be read at all. */
  readonly unread: readonly string[];
  /** The config was imported, and nobody has said yet that the other gateway is gone. */
  readonly channelsOff: boolean;
  readonly kinds: readonly ImportedKind[];
}

/**
 * Takes over what a state directory of OpenClaw has. Can be called again after any end: items with a receipt are there. Throws NOT_FOUND and USAGE
 * for the source, STATE_LOCKED while a gateway has the target, or the source, and what the journal and the disk throw.
 */
export async function importState(options: ImportOptions): Promise<ImportReport> {
  const { paths, dryRun } = options;
  const dir = await findSource(options.from, paths.stateDir, options.env);
  if (dryRun !== false) return withTemporary(tmpdir(), (copies) => withSource(dir, copies, options, plan));
  await makeStateDirs(paths);
  const lock = await acquireStateLock(paths.stateDir);
  try {
    await removeLeft(paths);
    return await withTemporary(paths.stateSub, (copies) => withSource(dir, copies, options, take));
  } finally {
    await lock.release();
  }
}

type Work = (source: ImportSource, target: Target, options: ImportOptions) => Promise<ImportReport>;

async function withSource(dir: string, copies: string, options: ImportOptions, work: Work): Promise<ImportReport> {
  const databases = new SourceDatabases(copies, dir);
  try {
    const ownPort = (await readStateLock(options.paths.stateDir))?.port;
    const source = await openSource(dir, { env: options.env, databases, ownPort });
    return await work(source, await targetFor(source, options), options);
  } finally {
    await databases.close();
  }
}

const COPIES = "import-";

async function withTemporary<T>(above: string, work: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(above, COPIES));
  try {
    return await work(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Copies of databases and unfinished files that a killed import has left. No gateway writes them: this process holds the lock. */
async function removeLeft({ stateDir, stateSub, sessionsDir, media }: StatePaths): Promise<void> {
  const copies = (await readdir(stateSub))
    .filter((name) => /^import-\w{6}$/.test(name))
    .map((name) => join(stateSub, name));
  const unfinished = await Promise.all([sessionsDir, join(media, "imported")].map(unfinishedIn));
  await removeUnfinished(instancePath(stateDir));
  for (const path of [...copies, ...unfinished.flat()]) await rm(path, { recursive: true, force: true });
}

async function unfinishedIn(dir: string): Promise<readonly string[]> {
  const entries = (await unlessMissing(readdir(dir, { recursive: true }))) ?? [];
  return entries.filter((name) => /\.[0-9a-f]{12}\.tmp$/.test(name)).map((name) => join(dir, name));
}

/** The config of the target decides, once there is one; before, that of the source will be its config. */
async function targetFor(source: ImportSource, { paths, load }: ImportOptions): Promise<Target> {
  const value = await readTargetValue(source, load);
  return { paths, load, defaultAgent: defaultAgentIn(value), receipts: await readReceipts(paths.stateDir) };
}

async function plan(source: ImportSource, target: Target, options: ImportOptions): Promise<ImportReport> {
  const held = await readStateLock(target.paths.stateDir);
  const busy =
    held?.alive === true && options.dryRun !== "for-gateway"
      ? [`A gateway (pid ${held.pid}) has ${target.paths.stateDir}: stop it before the import.`]
      : [];
  const known = target.receipts;
  const kinds: ImportedKind[] = [];
  for (const kind of IMPORT_KINDS) {
    const { items, left } = await planOf(kind, source, target);
    const state = (item: Item) => {
      if (item.left !== undefined) return "left";
      return isThere(known.get(receiptName({ kind: kind.id, id: item.id })), item) ? "there" : "new";
    };
    kinds.push({
      kind: kind.id,
      title: kind.title,
      items: items.map((item) => ({
        id: item.id,
        name: item.name,
        state: state(item),
        ...whyOf(item),
        notes: item.notes ?? [],
      })),
      left,
    });
  }
  return report(source, options, [...busy, ...warningsOf(source)], kinds);
}

const whyOf = ({ left }: Item): { why?: string } => (left === undefined ? {} : { why: left });

const isThere = (receipt: ItemReceipt | undefined, item: Item): boolean =>
  receipt !== undefined && receipt.left === undefined && receipt.version === item.version;

async function take(source: ImportSource, target: Target, options: ImportOptions): Promise<ImportReport> {
  refuseRunning(source);
  const receipts = await openReceipts(target.paths.stateDir, target.receipts);
  const journal = await openJournal({ path: journalPath(target.paths), bootId: `import-${process.pid}` });
  const taking: Taking = { source, receipts, to: { ...target, journal }, options };
  try {
    const kinds: ImportedKind[] = [];
    for (const kind of IMPORT_KINDS) kinds.push(await takeKind(kind, taking));
    const instance = await readInstance(target.paths.stateDir);
    const channelsOff = instance?.origin !== undefined && !instance.isAdopted;
    return { ...report(source, options, warningsOf(source), kinds), channelsOff };
  } finally {
    await journal.close();
    await receipts.close();
  }
}

interface Taking {
  readonly source: ImportSource;
  readonly receipts: ReceiptBook;
  readonly to: OpenTarget;
  readonly options: ImportOptions;
}

/** Planning only reads: what cannot be read stays behind as a whole, and the other kinds are taken. */
async function planOf(kind: ImportKind, source: ImportSource, target: Target): Promise<KindPlan> {
  try {
    return await kind.plan(source, target);
  } catch (error) {
    const fault = SourceFault.in(error) ?? (errorCode(error) === undefined ? undefined : SourceFault.of(error));
    if (!fault) throw error;
    return { items: [], left: [{ name: kind.title, why: fault.message }] };
  }
}

/** Planned after the kinds before it are taken: the config is there when the others need it. */
async function takeKind(kind: ImportKind, taking: Taking): Promise<ImportedKind> {
  const { items, left } = await planOf(kind, taking.source, taking.to);
  const results: ImportedItem[] = [];
  let next = 0;
  let done = 0;
  const work = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) {
      const item = items[at];
      if (item) results[at] = await takeItem(kind, item, taking);
      done += 1;
      taking.options.onProgress(kind.title, done, items.length);
    }
  };
  await Promise.all(Array.from({ length: kind.atOnce ?? 1 }, work));
  return { kind: kind.id, title: kind.title, items: results, left };
}

async function takeItem(kind: ImportKind, item: Item, { source, receipts, to }: Taking): Promise<ImportedItem> {
  const { id, name, version, notes = [] } = item;
  const before = to.receipts.get(receiptName({ kind: kind.id, id }));
  if (isThere(before, item)) return { id, name, state: "there", notes: before?.notes ?? [], ...madeOf(before) };
  const outcome = await tried(item, to, before);
  if ("failed" in outcome) return { id, name, state: "failed", why: outcome.failed, notes };
  const all = [...notes, ...(outcome.notes ?? [])];
  await receipts.add({
    kind: kind.id,
    id,
    name,
    version,
    at: new Date().toISOString(),
    from: source.dir,
    ...outcome,
    ...(all.length > 0 && { notes: all }),
  });
  const { left } = outcome;
  return {
    id,
    name,
    state: left === undefined ? "taken" : "left",
    ...madeOf(outcome),
    ...(left !== undefined && { why: left }),
    notes: all,
  };
}

const madeOf = (outcome: ItemOutcome | undefined): { made?: string } =>
  outcome?.made === undefined ? {} : { made: outcome.made };

/** Errors of writing a file that its name or place causes, not the disk. */
const OF_ONE_FILE = new Set(["EISDIR", "ENOTDIR", "ENAMETOOLONG", "EINVAL", "ERR_INVALID_ARG_VALUE"]);

/** An item that cannot be read is no reason to leave the others behind; a full disk is. */
async function tried(
  item: Item,
  to: OpenTarget,
  before: ItemReceipt | undefined,
): Promise<ItemOutcome | { failed: string }> {
  if (item.left !== undefined) return { left: item.left };
  try {
    return await item.take(to, before);
  } catch (error) {
    const fault = SourceFault.in(error);
    if (fault) return { left: fault.message };
    if (isDiskError(error) && !OF_ONE_FILE.has(errorCode(error.cause) ?? "")) throw error;
    return { failed: errorText(error) };
  }
}

function refuseRunning({ running, dir }: ImportSource): void {
  if (running?.sure !== true) return;
  throw new OpenClawError("STATE_LOCKED", {
    message: `${dir} is in use: ${running.text}.`,
    fix: "Stop it (with its own `openclaw gateway stop`), then import; or copy the directory and import the copy.",
  });
}

function warningsOf({ running, dir, configProblem }: ImportSource): readonly string[] {
  return [
    ...(running
      ? [`${dir} may be in use: ${running.text}. Stop OpenClaw, so that nothing changes while it is read.`]
      : []),
    ...(configProblem === undefined ? [] : [`The config of ${dir} cannot be read: ${configProblem}`]),
  ];
}

const report = (
  { dir, era, databases }: ImportSource,
  { paths, dryRun }: ImportOptions,
  warnings: readonly string[],
  kinds: readonly ImportedKind[],
): ImportReport => ({
  source: dir,
  target: paths.stateDir,
  era,
  dryRun: dryRun !== false,
  warnings,
  unread: databases.problems,
  channelsOff: false,
  kinds,
});
