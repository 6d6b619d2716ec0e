import { systemClock, type Clock } from "../../types/clock.ts";
import type { OpenClawError } from "../../types/errors.ts";
import type { InboxRow, Journal, SystemEvents, Texts } from "../../types/journal.ts";
import type { Log } from "../../types/log.ts";
import type { Peer } from "../../types/chat/message.ts";
import { createCronTable } from "../cron/cron-table.ts";
import { readCounts, type JournalCounts } from "../database/counts.ts";
import { createFile, fileSize } from "../files.ts";
import { createInbox } from "./inbox.ts";
import { createLedger, createReceived, createSpendLedger, createValues, createTaskLook } from "./ledger.ts";
import { createMessageDesk, type MessageDesk } from "./messages.ts";
import { createOutbox, journalId } from "./outbox.ts";
import { createPairing } from "./pairing.ts";
import { pruneJournal, type Keep } from "./prune.ts";
import { createSessionTable } from "./session-table.ts";
import type { TaskLook } from "./tasks.ts";
import type { SpendLedger } from "../../types/spend/ledger.ts";
import { anyJson, count, text, textOr, text as textIn } from "../database/columns.ts";
import { Commits } from "../database/commits.ts";
import { readPeer } from "./read-inbound.ts";
import { toInboxRow } from "./inbox-rows.ts";
import { openDatabase } from "./database.ts";
import { readVersion } from "../database/version.ts";
import { openWal } from "../database/wal.ts";
import type { SessionKey } from "../../types/ids.ts";
import { hash } from "node:crypto";
import { BoundedMap } from "../../utils/bounded-map.ts";
import { forgetOldest } from "../../utils/forget-oldest.ts";

export interface JournalOptions {
  /** The SQLite file. Made with its directory when it does not exist. */
  readonly path: string;
  /** A new value at every start of the gateway. A row that was claimed under another value has been through a restart. */
  readonly bootId: string;
  readonly log?: Log;
  readonly clock?: Clock;
  /**
   * Set by the one process that holds the state directory's lock: no sync blocks the event loop. `full`: a promise
   * resolves when its write is on disk. `normal`: a power cut may take the last writes. Unset, for commands: each
   * commit is on disk too, and blocks until then.
   */
  readonly sync?: "full" | "normal";
}

export interface JournalStats extends JournalCounts {
  /** Bytes of the database and its write-ahead log. */
  readonly bytes: number;
}

/** The journal with the methods of its owner. */
export interface OpenJournal extends Journal {
  /** Messages for operators. */
  readonly messages: MessageDesk;
  readonly tasks: TaskLook;
  /** The ledger of model calls. */
  readonly spend: SpendLedger;
  /**
   * Messages since an epoch millisecond that were kept as context and that no later turn of their chat has used; oldest first.
   * `placeOf` names what shares its turns with a chat.
   */
  heard(since: number, placeOf: (from: Peer) => Peer): Promise<readonly InboxRow[]>;
  /**
   * Removes finished rows when their time is over: by default rows after 30 days, messages that were not let in after 7, dedupe
   * keys after 400.
   */
  prune(keep?: Keep): Promise<number>;
  stats(): Promise<JournalStats>;
  /** The same counts without the file's size, synchronously. Throws SQLite's errors. */
  counts(): JournalCounts;
  /**
   * Resolves with the error of a failed sync, if one fails. It is then unknown which of the last writes are on disk. Every
   * later write fails with the same error, and the process must end.
   */
  readonly lost: Promise<OpenClawError>;
}

/**
 * Opens the journal. Throws `OpenClawError` JOURNAL_NEWER, JOURNAL_OLDER, JOURNAL_BROKEN (the file is left as it is),
 * DISK_FULL, DISK_WRITE or STATE_UNWRITABLE.
 */
export async function openJournal(options: JournalOptions): Promise<OpenJournal> {
  const { path, bootId } = options;
  const clock = options.clock ?? systemClock;
  await createFile(path);
  const { commits, lost, closeFile } = await openCommits(options);
  return {
    inbox: createInbox(commits, { bootId, clock }),
    outbox: createOutbox(commits, clock, await journalId(commits)),
    pairing: createPairing(commits, clock),
    runs: createLedger(commits),
    received: createReceived(commits, clock),
    values: createValues(commits),
    sessions: createSessionTable(commits),
    events: createSystemEvents(commits, clock),
    texts: createTexts(commits, clock),
    cron: createCronTable(commits),
    spend: createSpendLedger(commits, { bootId, clock }),
    heard: (since, placeOf) => readHeard(commits, since, placeOf),
    prune: (keep) => pruneJournal(commits, clock.now(), keep),
    messages: createMessageDesk(commits, clock),
    tasks: createTaskLook(commits),
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

/** No reader shows more lines. */
const MOST = 5000;
const HEARD = `
  SELECT * FROM inbox WHERE state = 'done' AND done_at > ? AND refused = 'history' ORDER BY id DESC LIMIT ${MOST}`;
const TOLD = `
  SELECT json_extract(message, '$.from') AS origin, max(id) AS last FROM inbox
  WHERE id > ? AND state = 'done' AND turn_id IS NOT NULL GROUP BY origin`;

/**
 * Messages since an epoch millisecond that were kept as context and that no later turn of their chat has used; oldest first.
 */
function readHeard(commits: Commits, since: number, placeOf: (from: Peer) => Peer): Promise<readonly InboxRow[]> {
  return commits.read((sql) => {
    const rows = sql
      .all(HEARD, since)
      .map(toInboxRow)
      .filter(({ message }) => !message.unreadable)
      .toReversed();
    const [first] = rows;
    if (!first) return [];
    const used = new Map<string, number>();
    for (const row of sql.all(TOLD, first.id)) {
      const from = readPeer(anyJson(row, "origin"));
      if (!from) continue;
      const place = nameOf(placeOf(from));
      used.set(place, Math.max(used.get(place) ?? 0, count(row, "last")));
    }
    return rows.filter(({ id, message }) => id > (used.get(nameOf(placeOf(message.from))) ?? 0));
  });
}

const nameOf = ({ channel, account, chat, thread }: Peer): string =>
  JSON.stringify([channel, account, chat.id, thread ?? ""]);

interface FileOptions {
  readonly path: string;
  readonly sync?: "full" | "normal";
  readonly log?: Log;
}

/** The open file of a journal. */
interface OpenFile {
  readonly commits: Commits;
  /** See `OpenJournal`; never resolves where SQLite itself syncs. */
  readonly lost: Promise<OpenClawError>;
  /** Closes the files. Called after the commits have settled. */
  closeFile(): Promise<void>;
}

/** Opens the database; with `sync`, for the one process that owns it. Throws as `openJournal` does. */
async function openCommits({ path, sync, log }: FileOptions): Promise<OpenFile> {
  const db = openDatabase(path);
  log?.debug("journal open", { path, version: readVersion(db) });
  if (sync === undefined) {
    const closeFile = async () => {
      if (db.isOpen) db.close();
    };
    return { commits: new Commits(db, path), lost: new Promise(() => undefined), closeFile };
  }
  const wal = await openWal(db, path);
  const onLongLog = (error: unknown) =>
    log?.warn("the journal's log was not copied into the database", { path, error });
  const commits = new Commits(db, path, { wal, isDurable: sync === "full", onLongLog });
  return { commits, lost: wal.lost, closeFile: () => wal.close() };
}

/** The most events that a session keeps. */
const MOST_EVENTS = 20;

const NEWEST = "SELECT text FROM system_events WHERE session_key = ? AND turn_id IS NULL ORDER BY id DESC LIMIT 1";
const ADD = "INSERT INTO system_events (session_key, text, at) VALUES (?, ?, ?)";
const DROP_WAITING = `
  DELETE FROM system_events WHERE session_key = ? AND turn_id IS NULL AND id NOT IN (
    SELECT id FROM system_events WHERE session_key = ? AND turn_id IS NULL ORDER BY id DESC LIMIT ${MOST_EVENTS})`;
const CLAIMS = "SELECT turn_id FROM system_events WHERE session_key = ?";
const CLAIM = "UPDATE system_events SET turn_id = ? WHERE session_key = ?";
const DROP_CLAIMED = `
  DELETE FROM system_events WHERE session_key = ? AND id NOT IN (
    SELECT id FROM system_events WHERE session_key = ? ORDER BY id DESC LIMIT ${MOST_EVENTS})`;
const OF_SESSION = "SELECT at, text FROM system_events WHERE session_key = ? ORDER BY id";
const REMOVE = "DELETE FROM system_events WHERE session_key = ? AND turn_id = ?";

/** The journal's queue of system events. */
function createSystemEvents(commits: Commits, clock: Clock): SystemEvents {
  return {
    async add(key, said) {
      const event = said.trim();
      if (event === "") return;
      await commits.write((sql) => {
        const newest = sql.one(NEWEST, key);
        if (newest && text(newest, "text") === event) return;
        sql.run(ADD, key, event, clock.now());
        sql.run(DROP_WAITING, key, key);
      });
    },
    claims: (key: SessionKey) =>
      commits.readAhead((sql) => {
        const turnIds = new Set(sql.all(CLAIMS, key).map((row) => textOr(row, "turn_id")));
        return { turnIds: [...turnIds].filter((id) => id !== undefined), waiting: turnIds.has(undefined) };
      }),
    claim: (key, turnId) =>
      commits.write((sql) => {
        sql.run(CLAIM, turnId, key);
        sql.run(DROP_CLAIMED, key, key);
        return sql.all(OF_SESSION, key).map((row) => ({ at: count(row, "at"), text: text(row, "text") }));
      }),
    remove: (key, turnId) =>
      commits.write((sql) => {
        sql.run(REMOVE, key, turnId);
      }),
  };
}

/** Keys that are known to be in the table. A forgotten one is only looked up again. */
const MOST_KNOWN = 1000;
/** System prompts, which stay the same from turn to turn, are hashed once. */
const MOST_HASHED = 16;
/** How often a text in use is marked as used, so that it is not pruned. */
const TOUCH_MS = 86_400_000;

/** Texts by their hash. */
export function createTexts(commits: Commits, clock: Clock): Texts {
  const touched = new Map<string, number>();
  const keys = new BoundedMap<string, string>(MOST_HASHED);
  return {
    async put(text) {
      const key = keys.of(text, () => hash("sha256", text, "buffer").toString("hex", 0, 16));
      const now = clock.now();
      const last = touched.get(key);
      if (last !== undefined && now - last < TOUCH_MS) return key;
      await commits.write((sql) => {
        sql.run(
          "INSERT INTO texts (key, text, at) VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET at = excluded.at",
          key,
          text,
          now,
        );
      });
      touched.set(key, now);
      forgetOldest(touched, MOST_KNOWN);
      return key;
    },
    get: (key) =>
      commits.read((sql) => {
        const row = sql.one("SELECT text FROM texts WHERE key = ?", key);
        return row && textIn(row, "text");
      }),
  };
}
