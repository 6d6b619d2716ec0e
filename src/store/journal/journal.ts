import { type Clock, systemClock } from "../../types/clock.ts";
import type { OpenClawError } from "../../types/errors.ts";
import type { InboxRow, Journal } from "../../types/journal.ts";
import type { Log } from "../../types/log.ts";
import type { Peer } from "../../types/chat/message.ts";
import { readCounts, type JournalCounts } from "./counts.ts";
import { createFile, fileSize } from "../files.ts";
import { readHeard } from "./heard.ts";
import { createInbox } from "./inbox.ts";
import { createApprovals, createLedger, createReceived, createValues } from "./ledger.ts";
import { createMessageDesk, type MessageDesk } from "./messages.ts";
import { openCommits } from "../open-commits.ts";
import { createOutbox } from "./outbox.ts";
import { createPairing } from "./pairing.ts";
import { pruneJournal, type Keep } from "./prune.ts";
import { createSessionTable } from "./session-table.ts";
import { createSystemEvents } from "./system-events.ts";
import { createTexts } from "./texts.ts";

export interface JournalOptions {
  /** The SQLite file; made with its directory when it is not there. */
  readonly path: string;
  /** New at every start of the gateway; a row claimed under another one has been through a restart. */
  readonly bootId: string;
  readonly log?: Log;
  readonly clock?: Clock;
  /**
   * For the one process that holds the state directory's lock: no sync blocks the event loop. `full`: a promise resolves
   * when its write is on disk. `normal`: a power cut may take the last writes. Unset, for commands: on disk too, but each
   * commit blocks until it is.
   */
  readonly sync?: "full" | "normal";
}

export interface JournalStats extends JournalCounts {
  /** Bytes of the database and its write-ahead log. */
  readonly bytes: number;
}

/** The journal with the methods of its owner. */
export interface OpenJournal extends Journal {
  /** For operators. */
  readonly messages: MessageDesk;
  /**
   * Messages since an epoch millisecond that were kept as context, and after which their place had no turn; oldest first.
   * `placeOf`: what shares its turns with a chat.
   */
  heard(since: number, placeOf: (from: Peer) => Peer): Promise<readonly InboxRow[]>;
  /** Removes finished rows after their time: by default rows 30 days, those never let in 7, dedupe keys 400. */
  prune(keep?: Keep): Promise<number>;
  stats(): Promise<JournalStats>;
  /** The same without the file's size, at once. Throws what SQLite throws. */
  counts(): JournalCounts;
  /**
   * Resolves, if ever, with the error of a sync that failed: it is unknown which of the last writes are on disk. Every later
   * write fails with the same error, and the process has to end.
   */
  readonly lost: Promise<OpenClawError>;
}

/**
 * Opens the journal. Throws `OpenClawError` JOURNAL_NEWER, JOURNAL_BROKEN (the file is left as it is),
 * DISK_FULL, DISK_WRITE or STATE_UNWRITABLE.
 */
export async function openJournal(options: JournalOptions): Promise<OpenJournal> {
  const { path, bootId } = options;
  const clock = options.clock ?? systemClock;
  await createFile(path);
  const { commits, lost, closeFile } = await openCommits(options);
  return {
    inbox: createInbox(commits, { bootId, clock }),
    outbox: createOutbox(commits, clock),
    pairing: createPairing(commits, clock),
    runs: createLedger(commits),
    approvals: createApprovals(commits, clock),
    received: createReceived(commits, clock),
    values: createValues(commits),
    sessions: createSessionTable(commits),
    events: createSystemEvents(commits, clock),
    texts: createTexts(commits, clock),
    heard: (since, placeOf) => readHeard(commits, since, placeOf),
    prune: (keep) => pruneJournal(commits, clock.now(), keep),
    messages: createMessageDesk(commits, clock),
    stats: async () => {
      const bytes = ((await fileSize(path)) ?? 0) + ((await fileSize(`${path}-wal`)) ?? 0);
      return commits.read((sql) => ({ ...readCounts(sql, clock.now()), bytes }));
    },
    counts: () => readCounts(commits.sql, clock.now()),
    lost,
    async close() {
      await commits.settle();
      await closeFile();
    },
  };
}
