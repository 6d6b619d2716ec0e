import { lstat, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { fullDiskOr, makePrivateDir, removeUnfinished, syncDir, writeAtomic } from "../../store/disk.ts";
import { lockFile } from "../../store/lock/lock-file.ts";
import type { InstallRecord } from "../../types/plugin/install-record.ts";
import { isFields } from "../../utils/fields.ts";
import { errorCode, unlessMissing } from "../../utils/missing.ts";
import { own } from "../../utils/own.ts";
import { isPluginId } from "../manifest/parse-manifest.ts";
import { hostLinkOf, linkHost } from "./host-link.ts";
import { parseRecords, putRecord, readRecords } from "./records.ts";
import { DRAFT, makeDraft, type PluginStore } from "./store.ts";
import { readTextFile } from "../../store/text-file.ts";

/**
 * A draft holds `plugin/`, the new version, and, once an installation is decided, `record.json` with its id and record. The
 * installed version is renamed to `old/` in the draft, then the new one into its place. So the folders of a draft say how far an
 * interrupted installation came: with `plugin/` still there, the old version is put back; without it, the new one is in place
 * and only its record may be missing. A removal is a draft too, whose `record.json` has no record: with `old/` in the draft it is
 * completed, without it nothing has happened.
 */
const PENDING = "record.json";

interface Ready {
  readonly draft: string;
  readonly id: string;
  readonly record: InstallRecord;
}

/**
 * Puts the plugin of a draft into place. When that fails, the earlier installation is in place. Throws `DISK_WRITE`.
 */
export async function commitDraft(store: PluginStore, { draft, id, record }: Ready): Promise<void> {
  await writeAtomic(join(draft, PENDING), JSON.stringify({ id, records: { [id]: record } }));
  const target = join(store.extensions, id);
  try {
    if (await isThere(target)) await rename(target, join(draft, "old"));
    await rename(join(draft, "plugin"), target);
    await syncDir(store.extensions);
  } finally {
    await settleDraft(store, draft);
  }
}

/** Removes the record of a plugin and, without `keepFiles`, its files. Does nothing where there are none. */
export async function removeInstalled(store: PluginStore, id: string, keepFiles: boolean): Promise<void> {
  if (!isPluginId(id)) return;
  const folder = join(store.extensions, id);
  if (keepFiles || !(await isThere(folder))) return forgetRecord(store, id);
  const draft = await makeDraft(store);
  await writeAtomic(join(draft, PENDING), JSON.stringify({ id, records: {} }));
  try {
    await rename(folder, join(draft, "old"));
    await syncDir(store.extensions);
  } finally {
    await settleDraft(store, draft);
  }
}

async function forgetRecord({ records }: PluginStore, id: string): Promise<void> {
  if (own(await readRecords(records), id)) await putRecord(records, id, undefined);
}

/** Ends the work that a draft began, as its folders show, and removes the draft. Returns the repair as a sentence. */
export async function settleDraft(store: PluginStore, draft: string): Promise<string | undefined> {
  const pending = await readPending(draft);
  if (pending === "unreadable" && (await isThere(join(draft, "old"))))
    return `${draft} holds an earlier version, and its ${PENDING} cannot be read: move the folder away.`;
  const repaired = typeof pending === "object" ? await settle(store, draft, pending) : undefined;
  // Without this file, the rest is not taken for an installation, should the removal be interrupted.
  await rm(join(draft, PENDING), { force: true });
  // The failed unpacking may still write files.
  await rm(draft, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  return repaired;
}

/** Settles the draft of an installation that failed. The error to throw: that of a full disk is `DISK_FULL`. */
export async function abandonDraft(store: PluginStore, draft: string, error: unknown): Promise<unknown> {
  await settleDraft(store, draft);
  return fullDiskOr(error, draft);
}

async function settle(store: PluginStore, draft: string, { id, record }: Pending): Promise<string | undefined> {
  if (!record) {
    if (!(await isThere(join(draft, "old")))) return undefined;
    await forgetRecord(store, id);
    return `The removal of ${id} was interrupted; it is complete now.`;
  }
  const target = join(store.extensions, id);
  if (await isThere(target)) {
    if (await isThere(join(draft, "plugin"))) return undefined;
    await putRecord(store.records, id, record);
    return `The installation of ${id} was interrupted after its files were in place; its record is complete now.`;
  }
  if (!(await isThere(join(draft, "old")))) return undefined;
  await rename(join(draft, "old"), target);
  await syncDir(store.extensions);
  return `The installation of ${id} was interrupted; the version before it is back in place.`;
}

interface Pending {
  readonly id: string;
  /** Unset for a removal. */
  readonly record?: InstallRecord;
}

const pendingShape = z.looseObject({ id: z.string().refine(isPluginId), records: z.unknown() });

/** Undefined where nothing was decided; `unreadable` for what no installation has written so. */
async function readPending(draft: string): Promise<Pending | "unreadable" | undefined> {
  const text = await readTextFile(join(draft, PENDING));
  if (text === undefined) return undefined;
  const parsed = pendingShape.safeParse(jsonIn(text));
  if (!parsed.success) return "unreadable";
  const { id, records } = parsed.data;
  const record = own(parseRecords(records), id);
  if (record) return { id, record };
  return isFields(records) && Object.keys(records).length === 0 ? { id } : "unreadable";
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller reports the failure.
    return undefined;
  }
}

/** Settles what interrupted installations left. The caller holds the store's lock. Returns a sentence for each repair. */
export async function settleDrafts(store: PluginStore): Promise<readonly string[]> {
  await removeUnfinished(store.records);
  const entries = (await unlessMissing(readdir(store.extensions, { withFileTypes: true }))) ?? [];
  const drafts = entries.filter((entry) => entry.isDirectory() && entry.name.startsWith(DRAFT));
  const repaired: string[] = [];
  for (const { name } of drafts) {
    const sentence = await settleDraft(store, join(store.extensions, name));
    if (sentence !== undefined) repaired.push(sentence);
  }
  return repaired;
}

/**
 * Settles what interrupted installations left, and links installed plugins to this package, which an update of the gateway may
 * have moved. The caller holds the store's lock. Returns a sentence for each repair.
 */
export async function repairStore(store: PluginStore): Promise<readonly string[]> {
  const repaired = [...(await settleDrafts(store))];
  for (const [id, { source }] of Object.entries(await readRecords(store.records))) {
    const folder = join(store.extensions, id);
    if (source === "link" || !(await isThere(folder)) || (await hostLinkOf(folder)) === store.packageRoot) continue;
    await linkHost(folder, store.packageRoot);
    repaired.push(`The link of ${id} to the gateway's package leads to ${store.packageRoot} again.`);
  }
  return repaired;
}

/** The same where another command may be installing now: then nothing is done. Nor is it where no plugin has ever been. */
export async function repairUnlessBusy(store: PluginStore): Promise<readonly string[]> {
  const entries = await unlessMissing(readdir(store.extensions));
  if (entries === undefined || entries.length === 0) return [];
  return (await withStoreLock(store, () => repairStore(store), 0).catch(ignoreBusy)) ?? [];
}

/** Runs work while no other process installs, updates or removes plugins. Throws `DISK_WRITE` after waiting `patienceMs`. */
export async function withStoreLock<T>(
  { records }: PluginStore,
  work: () => Promise<T>,
  patienceMs?: number,
): Promise<T> {
  await makePrivateDir(join(records, ".."));
  const release = await lockFile(records, patienceMs);
  try {
    return await work();
  } finally {
    await release();
  }
}

function ignoreBusy(error: unknown): undefined {
  const cause = error instanceof Error ? error.cause : undefined;
  if (errorCode(cause) !== "ELOCKED") throw error;
  return undefined;
}

const isThere = async (path: string): Promise<boolean> => (await unlessMissing(lstat(path))) !== undefined;
