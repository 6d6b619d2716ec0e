import fs from "node:fs/promises";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import type {
  AuthenticationCreds,
  SignalDataSet,
  SignalDataTypeMap,
  SignalKeyStore,
  SignalKeyStoreWithTransaction,
} from "@whiskeysockets/baileys";
import { OpenClawError } from "openclaw/plugin-sdk";
import type { Baileys } from "./baileys.ts";
import { silent } from "./quiet.ts";
import { recordOver } from "./records.ts";

/** The link of one account with WhatsApp: who we are, and the keys of every conversation. */
export interface Auth {
  /** As it is now; a connection changes it. */
  readonly creds: AuthenticationCreds;
  readonly keys: SignalKeyStore;
  /** The same for steps that are saved as one, in their order, whichever connection takes them. */
  readonly steps: SignalKeyStoreWithTransaction;
  /** Returns when `creds` are on disk; does nothing once closed. */
  save(): void;
  /**
   * Keeps what a message of ours said, for devices that ask again because they could not open it; three days long.
   * Throws when it cannot be written.
   */
  keep(id: string, content: Uint8Array): void;
  kept(id: string): Uint8Array | undefined;
  /** Epoch milliseconds at which a message was first kept; undefined when that is longer ago than it is kept. */
  keptAt(id: string): number | undefined;
  /** Forgets everything; the next connection begins with new keys. */
  forget(): void;
  close(): void;
}

const FILE = "auth.sqlite";
const KEPT_MS = 3 * 24 * 3_600_000;

/**
 * Opens the store in an account's folder. One call of the library changes several keys that only make sense together:
 * each is one transaction, on disk before it returns. Throws `CHANNEL_AUTH` when the file is no store.
 */
export async function openAuth(folder: string, baileys: Baileys): Promise<Auth> {
  const file = path.join(folder, FILE);
  await (await fs.open(file, "a", 0o600)).close();
  await fs.chmod(file, 0o600);
  const db = open(file);
  const stored = read<AuthenticationCreds>(db, "creds", "", baileys);
  let creds = stored ?? baileys.initAuthCreds();
  const keys = keyStore(db, baileys);
  return {
    get creds() {
      return creds;
    },
    keys,
    // The store waits for its turn by itself.
    steps: baileys.addTransactionCapability(keys, silent, { maxCommitRetries: 3, delayBetweenTriesMs: 200 }),
    save() {
      if (db.isOpen) write(db, baileys, [["creds", "", creds]]);
    },
    ...sentMessages(db),
    forget() {
      db.exec("DELETE FROM keys; DELETE FROM sent");
      creds = baileys.initAuthCreds();
    },
    close: () => {
      if (db.isOpen) db.close();
    },
  };
}

function open(file: string): DatabaseSync {
  try {
    const db = new DatabaseSync(file);
    db.exec(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000; PRAGMA secure_delete = ON",
    );
    db.exec("CREATE TABLE IF NOT EXISTS keys (type TEXT, id TEXT, value TEXT, PRIMARY KEY (type, id)) WITHOUT ROWID");
    db.exec("CREATE TABLE IF NOT EXISTS sent (id TEXT PRIMARY KEY, at INTEGER, content BLOB) WITHOUT ROWID");
    db.prepare("DELETE FROM sent WHERE at < ?").run(Date.now() - KEPT_MS);
    return db;
  } catch (cause) {
    throw new OpenClawError("CHANNEL_AUTH", {
      message: `The keys of WhatsApp in ${file} cannot be read.`,
      fix: "Restore the file from a backup, or remove it and link the account again.",
      cause,
    });
  }
}

function sentMessages(db: DatabaseSync): Pick<Auth, "keep" | "kept" | "keptAt"> {
  return {
    keep(id, content) {
      // The readers count from the first time that a message came.
      db.prepare(
        "INSERT INTO sent (id, at, content) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET content = excluded.content",
      ).run(id, Date.now(), content);
    },
    keptAt(id) {
      const row = db.prepare("SELECT at FROM sent WHERE id = ?").get(id);
      return typeof row?.["at"] === "number" ? row["at"] : undefined;
    },
    kept(id) {
      const row = db.prepare("SELECT content FROM sent WHERE id = ?").get(id);
      return row?.["content"] instanceof Uint8Array ? row["content"] : undefined;
    },
  };
}

type Row = readonly [type: string, id: string, value: unknown];

function write(db: DatabaseSync, { BufferJSON }: Baileys, rows: readonly Row[]): void {
  const put = db.prepare("INSERT OR REPLACE INTO keys (type, id, value) VALUES (?, ?, ?)");
  const drop = db.prepare("DELETE FROM keys WHERE type = ? AND id = ?");
  db.exec("BEGIN IMMEDIATE");
  try {
    for (const [type, id, value] of rows) {
      if (value == null) drop.run(type, id);
      else put.run(type, id, JSON.stringify(value, BufferJSON.replacer));
    }
    db.exec("COMMIT");
  } catch (error) {
    db.exec("ROLLBACK");
    throw error;
  }
}

function read<T>(db: DatabaseSync, type: string, id: string, { BufferJSON, proto }: Baileys): T | undefined {
  const row = db.prepare("SELECT value FROM keys WHERE type = ? AND id = ?").get(type, id);
  if (typeof row?.["value"] !== "string") return undefined;
  let value = JSON.parse(row["value"], BufferJSON.reviver);
  // A protobuf writes its bytes as base64 of its own.
  if (type === "app-state-sync-key") value = proto.Message.AppStateSyncKeyData.fromObject(value);
  return value;
}

function keyStore(db: DatabaseSync, baileys: Baileys): SignalKeyStore {
  return {
    get<T extends keyof SignalDataTypeMap>(type: T, ids: string[]) {
      const found: { [id: string]: SignalDataTypeMap[T] } = {};
      for (const id of ids) {
        const value = read<SignalDataTypeMap[T]>(db, type, id, baileys);
        if (value !== undefined) found[id] = value;
      }
      return found;
    },
    set: (data: SignalDataSet) => {
      const rows = rowsOf(data).map(([type, id, value]): Row => {
        const isRecord = type === "session" && value !== null;
        return [type, id, isRecord ? recordOver(read(db, type, id, baileys), value) : value];
      });
      write(db, baileys, rows);
    },
    clear: () => db.exec("DELETE FROM keys WHERE type <> 'creds'"),
  };
}

const rowsOf = (data: SignalDataSet): readonly Row[] =>
  Object.entries(data).flatMap(([type, byId]) =>
    Object.entries(byId ?? {}).map(([id, value]): Row => [type, id, value]),
  );
