import { stat, statfs } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import type { Check, CheckResult } from "../types/check.ts";
import { count } from "./columns.ts";
import { isMissing } from "./disk.ts";
import { SCHEMA_VERSION } from "./schema.ts";

export interface StorePaths {
  readonly stateDir: string;
  readonly journal: string;
}

const MIB = 1024 * 1024;
const WARN_FREE = 1024 * MIB;
const FAIL_FREE = 100 * MIB;
// Reading this much takes well under the two seconds of a check.
const QUICK_CHECK_MAX = 128 * MIB;

export function checks(paths: StorePaths): Check[] {
  return [
    { id: "store.journal", title: "Journal readable", run: () => checkJournal(paths.journal) },
    { id: "store.disk", title: "Free disk space", run: () => checkDisk(paths.stateDir) },
  ];
}

async function checkJournal(path: string): Promise<readonly CheckResult[]> {
  const size = await fileSize(path);
  if (size === undefined) return [{ status: "ok", message: "No journal yet; the gateway makes one." }];
  try {
    return [inspect(path, size)];
  } catch (error) {
    return [broken(path, error instanceof Error ? error.message : String(error))];
  }
}

function inspect(path: string, size: number): CheckResult {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    const version = count(db.prepare("PRAGMA user_version").get(), "user_version");
    if (version > SCHEMA_VERSION) return newer(path, version);
    if (version < SCHEMA_VERSION)
      return { status: "ok", message: "Journal is of an older version; the gateway brings it up." };
    if (size > QUICK_CHECK_MAX)
      return { status: "ok", message: `Journal opens (${toMib(size)} MiB, not read in full).` };
    const verdict = db.prepare("PRAGMA quick_check(1)").get()?.["quick_check"];
    if (verdict !== "ok") return broken(path, String(verdict));
    return describeRows(db);
  } finally {
    db.close();
  }
}

function describeRows(db: DatabaseSync): CheckResult {
  const inbox = count(db.prepare("SELECT count(*) AS n FROM inbox WHERE state <> 'done'").get(), "n");
  const unknown = count(db.prepare("SELECT count(*) AS n FROM outbox WHERE state = 'unknown'").get(), "n");
  return { status: "ok", message: `Journal is sound: ${inbox} open messages, ${unknown} sends of unknown fate.` };
}

const newer = (path: string, version: number): CheckResult => ({
  status: "fail",
  message: `${path} was written by a newer openclaw (schema ${version}).`,
  fix: "Update openclaw.",
});

const broken = (path: string, why: string): CheckResult => ({
  status: "fail",
  message: `${path} cannot be read: ${why}.`,
  fix: `Stop the gateway, then restore a backup or move the file aside: mv ${path} ${path}.broken`,
});

async function checkDisk(dir: string): Promise<readonly CheckResult[]> {
  const { bavail, bsize } = await statfs(dir);
  const free = bavail * bsize;
  const message = `${toMib(free)} MiB free at ${dir}.`;
  if (free >= WARN_FREE) return [{ status: "ok", message }];
  return [{ status: free < FAIL_FREE ? "fail" : "warn", message, fix: "Free some disk space." }];
}

async function fileSize(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

const toMib = (bytes: number): number => Math.floor(bytes / MIB);
