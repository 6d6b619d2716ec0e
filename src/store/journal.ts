import { open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { type Clock, systemClock } from "../types/clock.ts";
import { OpenClawError } from "../types/errors.ts";
import type { Journal } from "../types/journal.ts";
import type { Log } from "../types/log.ts";
import { count } from "./columns.ts";
import { Commits } from "./commits.ts";
import { openDatabase } from "./database.ts";
import { diskError, isMissing, makePrivateDir } from "./disk.ts";
import { createInbox } from "./inbox.ts";
import { createApprovals, createLedger, createValues } from "./ledger.ts";
import { createOutbox } from "./outbox.ts";
import { createPairing } from "./pairing.ts";
import { pruneJournal } from "./prune.ts";
import { SCHEMA_VERSION } from "./schema.ts";
import { createTexts } from "./texts.ts";

export interface JournalOptions {
  /** The SQLite file; made with its directory when it is not there. */
  readonly path: string;
  /** New at every start of the gateway; a row claimed under another one has been through a restart. */
  readonly bootId: string;
  readonly log?: Log;
  readonly clock?: Clock;
  /** `full` (default): on disk when a promise resolves. `normal`: a power cut may take the last writes. */
  readonly sync?: "full" | "normal";
}

export interface JournalStats {
  /** Messages without an outcome. */
  readonly openInbox: number;
  /** Chunks that are neither sent nor failed. */
  readonly openOutbox: number;
  /** Chunks of which nobody knows whether they arrived. */
  readonly unknownOutbox: number;
  /** Bytes of the database and its write-ahead log. */
  readonly bytes: number;
}

/** The journal with what its keeper may do to it. */
export interface OpenJournal extends Journal {
  /** Removes finished rows older than `keepDays` (30); returns how many. Dedupe keys stay for 400 days. */
  prune(options?: { keepDays?: number }): Promise<number>;
  stats(): Promise<JournalStats>;
}

/**
 * Opens the journal. Throws `OpenClawError` JOURNAL_NEWER, JOURNAL_BROKEN (the file is left as it is),
 * DISK_FULL, DISK_WRITE or STATE_UNWRITABLE.
 */
export async function openJournal(options: JournalOptions): Promise<OpenJournal> {
  const { path, bootId } = options;
  const clock = options.clock ?? systemClock;
  await createFile(path);
  const db = openDatabase(path, options.sync ?? "full");
  const commits = new Commits(db, path);
  options.log?.debug("journal open", { path, version: SCHEMA_VERSION });
  return {
    inbox: createInbox(commits, { bootId, clock }),
    outbox: createOutbox(commits, clock),
    pairing: createPairing(commits, clock),
    runs: createLedger(commits),
    approvals: createApprovals(commits, clock),
    values: createValues(commits),
    texts: createTexts(commits, clock),
    prune: (limits) => pruneJournal(commits, clock.now(), limits?.keepDays),
    stats: () => readStats(commits, path),
    async close() {
      commits.flush();
      if (db.isOpen) db.close();
    },
  };
}

async function createFile(path: string): Promise<void> {
  try {
    await makePrivateDir(dirname(path));
    await (await open(path, "a", 0o600)).close();
  } catch (error) {
    const problem = diskError(error, path);
    if (problem.code === "DISK_FULL") throw problem;
    throw new OpenClawError("STATE_UNWRITABLE", { message: problem.message, fix: problem.fix, cause: error });
  }
}

async function readStats(commits: Commits, path: string): Promise<JournalStats> {
  const bytes = (await fileSize(path)) + (await fileSize(`${path}-wal`));
  return commits.read((sql) => ({
    openInbox: count(sql.one("SELECT count(*) AS n FROM inbox WHERE state <> 'done'"), "n"),
    openOutbox: count(
      sql.one("SELECT count(*) AS n FROM outbox WHERE state IN ('planned', 'sending', 'unknown')"),
      "n",
    ),
    unknownOutbox: count(sql.one("SELECT count(*) AS n FROM outbox WHERE state = 'unknown'"), "n"),
    bytes,
  }));
}

async function fileSize(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}
