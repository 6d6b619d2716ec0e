import { readdir, statfs } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import type { Check, CheckResult } from "../types/check.ts";
import { existingAbove } from "../utils/real-path.ts";
import { errorText } from "../utils/text/error-text.ts";
import { readCounts, type JournalCounts } from "./database/counts.ts";
import { fileSize } from "./files.ts";
import { SCHEMA_VERSION } from "./database/schema.ts";
import { readVersion, useOf, versionRefusal } from "./database/version.ts";
import { brokenFix, IN_JOURNAL, isBroken, isDiskFault, sqliteError, Statements } from "./database/sqlite.ts";
import { unlessMissing } from "../utils/missing.ts";

export interface StorePaths {
  readonly stateDir: string;
  readonly journal: string;
  /** The directory of the transcripts. */
  readonly sessions: string;
}

const MIB = 1024 * 1024;
const WARN_FREE = 1024 * MIB;
const FAIL_FREE = 100 * MIB;
// Reading this much takes well under the two seconds of a check.
const QUICK_CHECK_MAX = 128 * MIB;

export function checks(paths: StorePaths): Check[] {
  return [
    { id: "store.journal", title: "Journal readable", run: () => checkJournal(paths) },
    { id: "store.inbox", title: "Messages without an outcome", run: () => checkRows(paths.journal, inboxResults) },
    { id: "store.outbox", title: "Replies that were not sent", run: () => checkRows(paths.journal, outboxResults) },
    { id: "store.disk", title: "Free disk space", run: () => checkDisk(paths.stateDir) },
  ];
}

async function checkJournal({ journal: path, sessions }: StorePaths): Promise<readonly CheckResult[]> {
  const size = await fileSize(path);
  if (!size) return [await withoutJournal(path, sessions)];
  try {
    return [inspect(path, size)];
  } catch (error) {
    if (isBroken(error)) return [broken(path, errorText(error))];
    // The file may be sound: this user may not open it, or another program holds it.
    throw sqliteError(error, path);
  }
}

/** A start makes a journal. Beside transcripts there was one before. */
async function withoutJournal(path: string, sessions: string): Promise<CheckResult> {
  const names = (await unlessMissing(readdir(sessions))) ?? [];
  const transcripts = names.filter((name) => name.endsWith(".jsonl")).length;
  if (transcripts === 0) return { status: "ok", message: "No journal yet; the gateway makes one." };
  return {
    status: "warn",
    message: `${path} is missing or empty, though there are ${transcripts} transcripts: ${IN_JOURNAL} are lost.`,
    fix: "Restore the file from a backup before the gateway runs. Without one there is nothing to do: the gateway makes a new one.",
  };
}

function inspect(path: string, size: number): CheckResult {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    const refused = versionRefusal(db, path);
    if (refused) return { status: "fail", message: refused.message, fix: refused.fix };
    if (useOf(db) === "bring")
      return { status: "ok", message: "The journal has an older version; the gateway migrates it at its start." };
    if (size > QUICK_CHECK_MAX)
      return { status: "ok", message: `Journal opens (${toMib(size)} MiB, not read in full).` };
    const verdict = db.prepare("PRAGMA quick_check(1)").get()?.["quick_check"];
    if (verdict !== "ok") return broken(path, String(verdict));
    const isNewer = readVersion(db) > SCHEMA_VERSION;
    const more = isNewer ? " A newer version has added to it, which this one leaves as it is." : "";
    return { status: "ok", message: `Journal is sound.${more}` };
  } finally {
    db.close();
  }
}

/** Reports nothing about a journal that does not exist, has another version or cannot be read: another check does. */
async function checkRows(
  path: string,
  tell: (counts: JournalCounts, now: number) => readonly CheckResult[],
): Promise<readonly CheckResult[]> {
  if (!(await fileSize(path))) return [];
  try {
    const db = new DatabaseSync(path, { readOnly: true });
    try {
      if (useOf(db) !== "work") return [];
      const now = Date.now();
      return tell(readCounts(new Statements(db, path), now), now);
    } finally {
      db.close();
    }
  } catch (error) {
    if (isBroken(error) || isDiskFault(error)) return [];
    throw error;
  }
}

/** Minutes after which a message should have been claimed. Longer than the default limit of a run. */
const UNCLAIMED_MINUTES = 15;
/** Minutes after which a claimed message is probably not being answered any more. */
const OPEN_MINUTES = 60;

function inboxResults(counts: JournalCounts, now: number): readonly CheckResult[] {
  const { openInbox, staleLastDay } = counts;
  const minutes = (at: number | undefined): number => Math.floor((now - (at ?? now)) / 60_000);
  const isLate =
    minutes(counts.oldestUnclaimedAt) >= UNCLAIMED_MINUTES || minutes(counts.oldestInboxAt) >= OPEN_MINUTES;
  const age = openInbox === 0 ? "" : `, the oldest for ${minutes(counts.oldestInboxAt)} min`;
  const open: CheckResult = {
    status: isLate ? "warn" : "ok",
    message: `${openInbox} wait or are being answered${age}.`,
    ...(isLate && { fix: "Is the gateway running? See them: openclaw inbox list; then inbox retry or inbox drop." }),
  };
  return [open, ...staleResults(staleLastDay), ...unreadableResults(counts)];
}

function unreadableResults({ unreadableLastWeek }: JournalCounts): readonly CheckResult[] {
  if (unreadableLastWeek === 0) return [];
  return [
    {
      status: "warn",
      message: `${unreadableLastWeek} of the last week had a wrong shape and could not be answered.`,
      fix: "See them: openclaw inbox list --all. After an update of the channel, to answer one: openclaw inbox retry <id>.",
    },
  ];
}

function staleResults(staleLastDay: number): readonly CheckResult[] {
  if (staleLastDay === 0) return [];
  const stale: CheckResult = {
    status: "warn",
    message: `${staleLastDay} of the last day came during an outage and were too old to be answered; their chats were informed.`,
    fix: "See them: openclaw inbox list --all. To answer one all the same: openclaw inbox retry <id>.",
  };
  return [stale];
}

function outboxResults({ openOutbox, unknownOutbox, failedOutboxLastDay }: JournalCounts): readonly CheckResult[] {
  const message = `${openOutbox} not sent yet, ${unknownOutbox} of them with an unknown outcome, ${failedOutboxLastDay} given up in the last day.`;
  if (failedOutboxLastDay === 0) return [{ status: "ok", message }];
  return [{ status: "warn", message, fix: "See why: openclaw outbox list; then outbox retry or outbox drop." }];
}

const broken = (path: string, why: string): CheckResult => ({
  status: "fail",
  message: `${path} cannot be read: ${why}.`,
  fix: brokenFix(path),
});

/**
 * Looks at the disk of the state directory's nearest existing parent: before the first start the directory is missing,
 * and the gateway makes it there.
 */
async function checkDisk(stateDir: string): Promise<readonly CheckResult[]> {
  const [dir] = await existingAbove(stateDir);
  const { bavail, bsize } = await statfs(dir);
  const free = bavail * bsize;
  const message = `${toMib(free)} MiB free at ${dir}.`;
  if (free >= WARN_FREE) return [{ status: "ok", message }];
  return [{ status: free < FAIL_FREE ? "fail" : "warn", message, fix: "Free some disk space." }];
}

const toMib = (bytes: number): number => Math.floor(bytes / MIB);
