import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { OpenClawError } from "../../types/errors.ts";
import { systemClock } from "../../types/clock.ts";
import type { Inbox, OutboxJournal, PairingDesk, ReceivedFiles, RunLedger, Texts } from "../../types/journal.ts";
import type { SpendLedger } from "../../types/spend/ledger.ts";
import type { CronTable } from "../../types/cron/table.ts";
import { createCronTable } from "../cron/cron-table.ts";
import { Commits } from "../database/commits.ts";
import { type JournalCounts, readCounts } from "../database/counts.ts";
import { useOf, versionRefusal } from "../database/version.ts";
import { createInbox } from "./inbox.ts";
import { openJournal, createTexts } from "./journal.ts";
import { createLedger, createReceived, createSpendLedger, createTaskLook } from "./ledger.ts";
import { createMessageLook, type MessageLook } from "./messages.ts";
import { createOutbox } from "./outbox.ts";
import { createPairing } from "./pairing.ts";
import type { TaskLook } from "./tasks.ts";

/** Records of runs, for reading. */
export interface RunSource {
  readonly runs: Pick<RunLedger, "recent" | "find" | "beginningWith">;
  readonly inbox: Pick<Inbox, "ofRun">;
  readonly outbox: Pick<OutboxJournal, "ofRun">;
  readonly texts: Pick<Texts, "get">;
}

/** Messages, for reading. */
export interface MessageSource extends RunSource {
  readonly messages: MessageLook;
}

/** Use of models, for reading. */
export interface SpendSource {
  readonly spend: Pick<SpendLedger, "lines" | "held">;
}

/** Detached work, for reading. */
export interface TaskSource {
  readonly tasks: TaskLook;
}

/** What still needs a session. */
export interface NeedSource {
  readonly inbox: Pick<Inbox, "open">;
  readonly cron: Pick<CronTable, "all">;
}

/** Received files of sessions, for reading. */
export interface ReceivedSource {
  readonly received: Pick<ReceivedFiles, "of">;
}

/** Strangers, for reading. */
export interface StrangerSource {
  readonly pairing: Pick<PairingDesk, "list" | "turnedAway" | "admitted">;
  /** Counts of messages and replies. */
  counts(): JournalCounts | Promise<JournalCounts>;
}

/**
 * Opens an existing journal for reading, also one of a newer version that the gateway refuses. Changes nothing, except that it first
 * migrates an older version. Throws `OpenClawError` as `openJournal` does; what a newer version has changed is JOURNAL_NEWER when it
 * is read.
 */
export async function openJournalToRead(
  path: string,
): Promise<
  MessageSource & StrangerSource & SpendSource & TaskSource & NeedSource & ReceivedSource & { close(): Promise<void> }
> {
  const db = openAsItIs(path);
  if (!db) return openJournal({ path, bootId: `reader-${process.pid}` });
  const refused = versionRefusal(db, path);
  const commits = new Commits(db, path, refused && { unread: refused });
  const clock = systemClock;
  return {
    runs: createLedger(commits),
    inbox: createInbox(commits, { bootId: "", clock }),
    outbox: createOutbox(commits, clock, ""),
    texts: createTexts(commits, clock),
    messages: createMessageLook(commits),
    tasks: createTaskLook(commits),
    cron: createCronTable(commits),
    received: createReceived(commits, clock),
    pairing: createPairing(commits, clock),
    counts: () => commits.read((sql) => readCounts(sql, clock.now())),
    spend: createSpendLedger(commits, { bootId: "", clock }),
    async close() {
      db.close();
    },
  };
}

/** Why this program's gateway would not work with a journal on disk; undefined when it would, or when there is none. */
export function journalRefusal(path: string): OpenClawError | undefined {
  if (!existsSync(path)) return undefined;
  const db = new DatabaseSync(path, { readOnly: true, timeout: 2000 });
  try {
    return versionRefusal(db, path);
  } finally {
    db.close();
  }
}

/** Undefined when `openJournal` must handle it: a journal of an older version, or no journal. */
function openAsItIs(path: string): DatabaseSync | undefined {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout: 2000 });
    if (["work", "read"].includes(useOf(db))) return db;
  } catch {
    // Opening the journal for writing reports the problem.
  }
  db?.close();
  return undefined;
}
