import fs from "node:fs/promises";
import path from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type {
  AuthenticationCreds,
  SignalDataSet,
  SignalDataTypeMap,
  SignalKeyStore,
  SignalKeyStoreWithTransaction,
} from "@whiskeysockets/baileys";
import { OpenClawError, type ChannelLog } from "openclaw/plugin-sdk";
import { z } from "zod";
import type { Baileys } from "../baileys.ts";
import { readLinkFiles } from "./link-files.ts";
import { silent } from "./log-filter.ts";
import { mergedRecord } from "./records.ts";

/** The link of one account with WhatsApp: its credentials and the keys of every conversation. */
export interface Auth {
  /** The present credentials; a connection changes them. */
  readonly creds: AuthenticationCreds;
  readonly keys: SignalKeyStore;
  /** The same store with transactions, which run in sequence across all connections. */
  readonly steps: SignalKeyStoreWithTransaction;
  /** Returns when `creds` are on disk; does nothing once closed. */
  save(): void;
  /**
   * Keeps the content of one of our messages for three days, for devices that request it again because they could not
   * decrypt it. Throws when the content cannot be written.
   */
  keep(id: string, content: Uint8Array): void;
  kept(id: string): Uint8Array | undefined;
  /** Epoch milliseconds at which a message was first kept; undefined when it is not kept any more. */
  keptAt(id: string): number | undefined;
  /** Forgets everything; the next connection begins with new keys. */
  forget(): void;
  close(): void;
}

const FILE = "auth.sqlite";
/** Only a gateway that is being stopped may lock the file. The wait blocks every channel, so it is short. */
const BUSY_MS = 250;
const KEPT_MS = 3 * 24 * 3_600_000;

/** Restricts the file to its owner. A copy or a restored backup may have been readable to others: a warning informs the operator. */
async function closeFile(file: string, log: Pick<ChannelLog, "warn"> | undefined): Promise<void> {
  const { mode } = await fs.stat(file);
  await fs.chmod(file, 0o600);
  if (process.platform === "win32" || (mode & 0o077) === 0) return;
  const fix = "If others use this machine, unlink this device on the phone, then link the account anew.";
  log?.warn("the keys of the WhatsApp account were readable by other users; this is corrected now", {
    path: file,
    fix,
  });
}

/**
 * Opens the store in an account's folder. One call of the library changes several keys that belong together: each call is one
 * transaction, on disk before it returns. Throws `CHANNEL_AUTH` when the file is not a store.
 */
export async function openAuth(folder: string, baileys: Baileys, log?: Pick<ChannelLog, "warn">): Promise<Auth> {
  const file = path.join(folder, FILE);
  await (await fs.open(file, "a", 0o600)).close();
  await closeFile(file, log);
  const store = open(file, log);
  const { db } = store;
  const stored = readCreds(store, file, baileys) ?? (await takenCreds(store, { folder, file, baileys }));
  let creds = stored ?? baileys.initAuthCreds();
  const keys = keyStore(store, baileys);
  return {
    get creds() {
      return creds;
    },
    keys,
    // SQLite itself waits for a locked file.
    steps: baileys.addTransactionCapability(keys, silent, { maxCommitRetries: 3, delayBetweenTriesMs: 200 }),
    save() {
      if (db.isOpen) write(store, baileys, [["creds", "", creds]]);
    },
    ...sentMessages(store),
    forget() {
      db.exec("DELETE FROM keys; DELETE FROM sent");
      creds = baileys.initAuthCreds();
    },
    close: () => {
      if (db.isOpen) db.close();
    },
  };
}

/** Credentials in files of the library, as other gateways keep them, are taken over with their keys. */
async function takenCreds(
  store: Store,
  { folder, file, baileys }: { folder: string; file: string; baileys: Baileys },
): Promise<AuthenticationCreds | undefined> {
  const link = await readLinkFiles(folder);
  if (!link) return undefined;
  inTransaction(store, () => {
    const put = store.prepare("INSERT OR REPLACE INTO keys (type, id, value) VALUES (?, ?, ?)");
    for (const { type, id, json } of link.rows) put.run(type, id, json);
  });
  const creds = readCreds(store, file, baileys);
  await link.putAside();
  return creds;
}

/** The database with its statements, each prepared once. */
interface Store {
  readonly db: DatabaseSync;
  prepare(sql: string): StatementSync;
  readonly log: Pick<ChannelLog, "warn"> | undefined;
}

function storeOver(db: DatabaseSync, log: Store["log"]): Store {
  const known = new Map<string, StatementSync>();
  return {
    db,
    log,
    prepare(sql) {
      const statement = known.get(sql) ?? db.prepare(sql);
      known.set(sql, statement);
      return statement;
    },
  };
}

function open(file: string, log: Store["log"]): Store {
  try {
    const db = new DatabaseSync(file);
    db.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA secure_delete = ON`,
    );
    db.exec("CREATE TABLE IF NOT EXISTS keys (type TEXT, id TEXT, value TEXT, PRIMARY KEY (type, id)) WITHOUT ROWID");
    db.exec("CREATE TABLE IF NOT EXISTS sent (id TEXT PRIMARY KEY, at INTEGER, content BLOB) WITHOUT ROWID");
    db.prepare("DELETE FROM sent WHERE at < ?").run(Date.now() - KEPT_MS);
    return storeOver(db, log);
  } catch (cause) {
    throw unreadable(file, cause);
  }
}

const unreadable = (file: string, cause: unknown): OpenClawError =>
  new OpenClawError("CHANNEL_AUTH", {
    message: `The keys of WhatsApp in ${file} cannot be read.`,
    fix: "Restore the file from a backup, or remove it and link the account again.",
    cause,
  });

function sentMessages(store: Store): Pick<Auth, "keep" | "kept" | "keptAt"> {
  return {
    keep(id, content) {
      // The time for edits counts from the first send of a message.
      store
        .prepare(
          "INSERT INTO sent (id, at, content) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET content = excluded.content",
        )
        .run(id, Date.now(), content);
    },
    keptAt(id) {
      const row = store.prepare("SELECT at FROM sent WHERE id = ?").get(id);
      return typeof row?.["at"] === "number" ? row["at"] : undefined;
    },
    kept(id) {
      const row = store.prepare("SELECT content FROM sent WHERE id = ?").get(id);
      return row?.["content"] instanceof Uint8Array ? row["content"] : undefined;
    },
  };
}

type Row = readonly [type: string, id: string, value: unknown];

function write(store: Store, { BufferJSON }: Baileys, rows: readonly Row[]): void {
  const put = store.prepare("INSERT OR REPLACE INTO keys (type, id, value) VALUES (?, ?, ?)");
  const drop = store.prepare("DELETE FROM keys WHERE type = ? AND id = ?");
  inTransaction(store, () => {
    for (const [type, id, value] of rows) {
      if (value == null) drop.run(type, id);
      else put.run(type, id, JSON.stringify(value, BufferJSON.replacer));
    }
  });
}

function inTransaction({ db }: Store, change: () => void): void {
  db.exec("BEGIN IMMEDIATE");
  try {
    change();
    db.exec("COMMIT");
  } catch (error) {
    db.exec("ROLLBACK");
    throw error;
  }
}

/** Throws a `SyntaxError` when a row is not JSON or does not match its type. */
function parse<T>(store: Store, type: string, id: string, { BufferJSON, proto }: Baileys): T | undefined {
  const row = store.prepare("SELECT value FROM keys WHERE type = ? AND id = ?").get(type, id);
  if (typeof row?.["value"] !== "string") return undefined;
  const read: unknown = JSON.parse(row["value"], BufferJSON.reviver);
  // Protobuf objects encode their bytes as base64 themselves.
  const isProto = isFields(read) && type === "app-state-sync-key";
  const value: unknown = isProto ? proto.Message.AppStateSyncKeyData.fromObject(read) : read;
  if (!isStored<T>(type, value)) throw new SyntaxError(`a row does not match its type ${type}`);
  return value;
}

/** Ignores a row that cannot be parsed: the library then makes a new session with that device. */
function read<T>(store: Store, type: string, id: string, baileys: Baileys): T | undefined {
  try {
    return parse<T>(store, type, id, baileys);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    store.log?.warn("a key of the WhatsApp account could not be read and is ignored", { type });
    return undefined;
  }
}

/** Credentials cannot be recreated: without them the account must be linked again. Throws CHANNEL_AUTH. */
function readCreds(store: Store, file: string, baileys: Baileys): AuthenticationCreds | undefined {
  try {
    return parse<AuthenticationCreds>(store, "creds", "", baileys);
  } catch (error) {
    throw error instanceof SyntaxError ? unreadable(file, error) : error;
  }
}

const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function keyStore(store: Store, baileys: Baileys): SignalKeyStore {
  return {
    get<T extends keyof SignalDataTypeMap>(type: T, ids: string[]) {
      const found: { [id: string]: SignalDataTypeMap[T] } = {};
      for (const id of ids) {
        const value = read<SignalDataTypeMap[T]>(store, type, id, baileys);
        if (value !== undefined) found[id] = value;
      }
      return found;
    },
    set: (data: SignalDataSet) => {
      const rows = rowsOf(data).map(([type, id, value]): Row => {
        const isRecord = type === "session" && value !== null;
        return [type, id, isRecord ? mergedRecord(read(store, type, id, baileys), value) : value];
      });
      write(store, baileys, rows);
    },
    clear: () => store.db.exec("DELETE FROM keys WHERE type <> 'creds'"),
  };
}

const rowsOf = (data: SignalDataSet): readonly Row[] =>
  Object.entries(data).flatMap(([type, byId]) =>
    Object.entries(byId ?? {}).map(([id, value]): Row => [type, id, value]),
  );

const bytes = z.instanceof(Uint8Array);
const keyPair = z.looseObject({ public: bytes, private: bytes });

/** The parts of rows that are used without further checks, by type. Rows of other types only have to exist. */
const SHAPES: Readonly<Record<string, z.ZodType>> = {
  creds: z.looseObject({
    noiseKey: keyPair,
    signedIdentityKey: keyPair,
    signedPreKey: z.looseObject({ keyPair, signature: bytes, keyId: z.number() }),
    registrationId: z.number(),
    advSecretKey: z.string(),
  }),
  "pre-key": keyPair,
  // The library stores some sessions as objects.
  session: z.union([bytes, z.looseObject({})]),
  "sender-key": z.union([bytes, z.looseObject({})]),
  "identity-key": bytes,
  "sender-key-memory": z.record(z.string(), z.boolean()),
  "app-state-sync-version": z.looseObject({ version: z.number(), hash: bytes }),
  "lid-mapping": z.string(),
  "device-list": z.array(z.string()),
};

/** Whether a value has the form in which the library stores a type (its `SignalDataTypeMap`). */
const isStored = <T>(type: string, value: unknown): value is T =>
  value !== null && value !== undefined && (SHAPES[type]?.safeParse(value).success ?? true);
