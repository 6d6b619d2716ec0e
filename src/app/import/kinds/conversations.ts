import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import JSON5 from "json5";
import { Readable } from "node:stream";
import { parseFields } from "../../../sessions/transcript/entries.ts";
import { type Fields, isFields } from "../../../utils/fields.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { errorCode, unlessMissing } from "../../../utils/missing.ts";
import type { Left } from "../frame/kind.ts";
import type { ImportSource, SourceAgent, SourceDatabase } from "../frame/source.ts";
import { openSourceFile, readSourceText, SourceFault, sourceFile, type SourceFile } from "../frame/source-file.ts";
import { archiveLines, BLOCK_BYTES, coldLines, databaseLines, type Lines, transcriptLines } from "./transcripts.ts";

/** A transcript of the source, and the row of its chat. */
export interface SourceConversation {
  /** Name in the receipts: the agent and the session, or the archive. */
  readonly id: string;
  readonly agent: string;
  readonly sessionId: string;
  /** The chat's key in the source; undefined when nobody knows whose conversation it was. */
  readonly key: string | undefined;
  /** Whether it is the chat's present conversation, or why it is not. */
  readonly state: "current" | "reset" | "deleted";
  /** Fields of the row without those that are made anew for each run. */
  readonly row: Fields;
  /** Epoch milliseconds of a date that can be written. */
  readonly updatedAt: number;
  /** Why it stays behind, where that is known already. */
  readonly fault?: string;
  /** Differs when the conversation went on. */
  readonly version: string;
  /** Its lines; undefined for a row without a transcript. */
  readonly lines: (() => Lines) | undefined;
}

export interface Conversations {
  readonly found: readonly SourceConversation[];
  readonly left: readonly Left[];
}

/** The conversations of an agent, of every era: those of the database have priority over files of the same session. */
export async function conversationsOf(agent: SourceAgent, { databases, dir }: ImportSource): Promise<Conversations> {
  const stored = await orLeft(`database of ${agent.id}`, async () =>
    agent.database === undefined ? NOTHING : inDatabase(await databases.open(agent.database), agent, dir),
  );
  const inDb = new Set(stored.found.map(({ sessionId }) => sessionId));
  const files = await orLeft(`conversations of ${agent.id}`, () => inFiles(agent, dir, inDb));
  return { found: [...stored.found, ...files.found], left: [...stored.left, ...files.left] };
}

const NOTHING: Conversations = { found: [], left: [] };

/** One agent's unreadable file is no reason to leave the others behind. */
async function orLeft(name: string, find: () => Promise<Conversations>): Promise<Conversations> {
  try {
    return await find();
  } catch (error) {
    if (errorCode(error) === undefined && !SourceFault.in(error)) throw error;
    return { found: [], left: [{ name, why: SourceFault.of(error).message }] };
  }
}

/** The newest version of the database whose tables are known. */
const KNOWN_VERSION = 24;
const READ_TABLES = [
  "session_nodes",
  "session_windows",
  "transcript_events",
  "session_transcript_archives",
  "session_transcript_cold_archives",
];

function inDatabase(db: SourceDatabase, agent: SourceAgent, root: string): Conversations {
  const left = unreadOf(db, agent);
  if (!db.has("session_nodes", "session_key", "current_session_id", "entry_json")) return { found: [], left };
  if (!db.has("transcript_events", "session_id", "seq", "event_json")) return { found: [], left };
  const current = new Map<string, Fields>();
  for (const { session_key: key, current_session_id: id, entry_json: entry, ...columns } of db.rows(
    "SELECT * FROM session_nodes",
  ))
    if (typeof key === "string" && typeof id === "string")
      current.set(key, { ...ofColumns(columns), ...slim(parseFields(String(entry)) ?? {}), sessionId: id });
  const all = [...windowsOf(db, current)].map((window) => conversationIn(window, { db, agent, root, current }));
  return { found: [...all, ...archivesIn(db, agent)], left };
}

const COLUMNS: Readonly<Record<string, string>> = {
  updated_at: "updatedAt",
  label: "label",
  display_name: "displayName",
  category: "category",
  icon: "icon",
  pinned_at: "pinnedAt",
  archived_at: "archivedAt",
  spawned_by: "spawnedBy",
  parent_session_key: "parentSessionKey",
};

const ofColumns = (columns: Fields): Fields =>
  Object.fromEntries(
    Object.entries(COLUMNS).flatMap(([column, name]) =>
      columns[column] === undefined || columns[column] === null ? [] : [[name, columns[column]]],
    ),
  );

interface Window {
  readonly sessionId: string;
  readonly key: string;
  readonly updatedAt: number;
  readonly entries: number;
}

/** Every session id of each chat, with the number of its entries. */
function* windowsOf(db: SourceDatabase, current: ReadonlyMap<string, Fields>): Generator<Window> {
  const counts = new Map<unknown, number>();
  for (const row of db.rows("SELECT session_id, count(*) AS entries FROM transcript_events GROUP BY session_id"))
    counts.set(row["session_id"], Number(row["entries"]));
  const seen = new Set<string>();
  const windows = db.has("session_windows", "session_id", "session_key", "updated_at")
    ? db.rows("SELECT session_id, session_key, updated_at FROM session_windows")
    : [];
  for (const { session_id: id, session_key: key, updated_at: at } of windows) {
    if (typeof id !== "string" || typeof key !== "string") continue;
    seen.add(id);
    yield { sessionId: id, key, updatedAt: timeIn(at) ?? 0, entries: counts.get(id) ?? 0 };
  }
  for (const [key, { sessionId, updatedAt }] of current)
    if (typeof sessionId === "string" && !seen.has(sessionId))
      yield { sessionId, key, updatedAt: timeIn(updatedAt) ?? 0, entries: counts.get(sessionId) ?? 0 };
}

interface InDatabase {
  readonly db: SourceDatabase;
  readonly agent: SourceAgent;
  /** The source's directory. */
  readonly root: string;
  readonly current: ReadonlyMap<string, Fields>;
}

function conversationIn(
  { sessionId, key, updatedAt, entries }: Window,
  { db, agent, root, current }: InDatabase,
): SourceConversation {
  const row = current.get(key);
  const isCurrent = row?.["sessionId"] === sessionId;
  const at = isCurrent ? (timeIn(row["updatedAt"]) ?? updatedAt) : updatedAt;
  const cold = entries === 0 ? coldOf(db, join(agent.sessions, "cold"), root, sessionId) : undefined;
  return {
    id: `${agent.id}/${sessionId}`,
    agent: agent.id,
    sessionId,
    key,
    state: isCurrent ? "current" : "reset",
    row: isCurrent ? row : {},
    updatedAt: at,
    version: `${entries}/${at}`,
    lines: entries > 0 ? () => databaseLines(db, sessionId) : cold,
  };
}

/** The lines of a session that was packed since nobody used it, in the database or in a file. */
function coldOf(db: SourceDatabase, folder: string, root: string, sessionId: string): (() => Lines) | undefined {
  const table = "session_transcript_cold_archives";
  if (!db.has(table, "session_id", "archive_name", "archive_blob")) return undefined;
  const find = () => [...db.rows(`SELECT archive_name, archive_blob FROM ${table} WHERE session_id = ?`, sessionId)][0];
  const found = find();
  if (!found) return undefined;
  const file = join(folder, basename(String(found["archive_name"])));
  return async function* () {
    const blob = find()?.["archive_blob"];
    yield* coldLines(
      blob instanceof Uint8Array ? Readable.from([blob]) : await openSourceFile(file, root, BLOCK_BYTES),
    );
  };
}

function* archivesIn(db: SourceDatabase, agent: SourceAgent): Generator<SourceConversation> {
  const table = "session_transcript_archives";
  if (!db.has(table, "session_id", "session_key", "reason", "encoding", "archive_blob", "archive_sha256", "created_at"))
    return;
  const rows = db.rows(
    `SELECT rowid AS place, session_id, session_key, reason, encoding, archive_sha256, created_at FROM ${table}`,
  );
  for (const row of rows) {
    const { place, encoding } = row;
    const sessionId = String(row["session_id"]);
    const at = timeIn(row["created_at"]) ?? 0;
    const blob = (): Uint8Array => {
      const bytes = [...db.rows(`SELECT archive_blob FROM ${table} WHERE rowid = ?`, Number(place))][0]?.[
        "archive_blob"
      ];
      return bytes instanceof Uint8Array ? Buffer.from(bytes) : Buffer.alloc(0);
    };
    yield {
      id: `${agent.id}/${sessionId}/${at}`,
      agent: agent.id,
      sessionId,
      key: String(row["session_key"]),
      state: row["reason"] === "deleted" ? "deleted" : "reset",
      row: {},
      updatedAt: at,
      version: String(row["archive_sha256"]),
      lines: () => archiveLines(blob(), encoding === "zstd"),
    };
  }
}

/** Waiting messages are not sent unasked; tables of a newer version are not guessed at. */
function unreadOf(db: SourceDatabase, agent: SourceAgent): readonly Left[] {
  const left: Left[] = [];
  const { version } = db;
  const name = `database of ${agent.id}`;
  if (version !== undefined && version > KNOWN_VERSION) {
    const others = db.tables.filter((table) => !READ_TABLES.includes(table));
    left.push({
      name,
      why: `it has version ${version}, newer than this gateway knows; not read: ${others.join(", ")}`,
    });
  }
  if (db.has("session_pending_inputs")) {
    const waiting = Number([...db.rows("SELECT count(*) AS n FROM session_pending_inputs")][0]?.["n"]);
    if (waiting > 0)
      left.push({ name: `${waiting} messages of ${agent.id} that wait`, why: "they are not answered unasked" });
  }
  return left;
}

const KEPT_OBJECTS = new Set(["origin", "deliveryContext", "delivery"]);

/** A row without what is made anew for each run, which may be most of its size. */
const slim = (row: Fields): Fields =>
  Object.fromEntries(
    Object.entries(row).filter(
      ([name, value]) => typeof value !== "object" || value === null || KEPT_OBJECTS.has(name),
    ),
  );

async function inFiles(agent: SourceAgent, root: string, inDb: ReadonlySet<string>): Promise<Conversations> {
  const left: Left[] = [];
  const rows = await rowsOf(agent, root, left);
  const names = (await unlessMissing(readdir(agent.sessions))) ?? [];
  const found: SourceConversation[] = [];
  const taken = new Set<string>();
  for (const [key, row] of rows) {
    const sessionId = String(row["sessionId"]);
    if (inDb.has(sessionId)) continue;
    const file = names.includes(fileName(row)) ? fileName(row) : `${basename(sessionId)}.jsonl`;
    taken.add(file);
    found.push(await ofFile({ agent, root, file, sessionId, key, row, state: "current" }));
  }
  const keys = new Map([...rows].map(([key, { sessionId }]) => [sessionId, key] as const));
  for (const file of names.filter((one) => !taken.has(one))) {
    const read = readName(file, inDb);
    if (typeof read !== "string")
      found.push(await ofFile({ agent, root, file, key: keys.get(read.sessionId), row: {}, ...read }));
    else if (read !== "") left.push({ name: `${agent.id}/${file}`, why: read });
  }
  return { found, left };
}

/** The conversation of a file that no row names; else why it is left, which is empty for what needs no word. */
function readName(file: string, inDb: ReadonlySet<string>): string | Pick<SourceConversation, "sessionId" | "state"> {
  const [, id, state] = ARCHIVE.exec(file) ?? [];
  if (id !== undefined) return { sessionId: id, state: state === "deleted" ? "deleted" : "reset" };
  const why = whyLeft(file);
  if (why !== undefined) return why;
  const sessionId = file.slice(0, -".jsonl".length);
  return inDb.has(sessionId) ? "the database has this conversation" : { sessionId, state: "reset" };
}

const ARCHIVE = /^(.+)\.jsonl\.(reset|deleted)\.[\dTZ.:-]+(?:\.zst)?$/;

const fileName = ({ sessionFile }: Fields): string =>
  typeof sessionFile === "string" && !sessionFile.startsWith("sqlite:") ? basename(sessionFile) : "";

/** Why a file of the folder is no conversation; empty for what needs no word. Undefined for a transcript. */
function whyLeft(name: string): string | undefined {
  if (/\.trajectory(?:-path)?\.jsonl?$/.test(name)) return "a trace for finding faults, no conversation";
  if (name.endsWith(".jsonl")) return undefined;
  if (name === "sessions.json" || name === "cold") return "";
  if (/\.lock(?:\.sqlite)?$/.test(name)) return "a lock of the other program";
  return /\.(?:bak|tmp|migrated)/.test(name) ? "an earlier copy of a file" : "of no known kind";
}

/** Bytes of the file of all rows: JSON of more is no text for V8. */
const MOST_ROWS = 256 * 1024 * 1024;

async function rowsOf(agent: SourceAgent, root: string, left: Left[]): Promise<ReadonlyMap<string, Fields>> {
  const { sessions, id } = agent;
  try {
    const text = await readSourceText(join(sessions, "sessions.json"), root, MOST_ROWS);
    if (text === undefined) return new Map();
    const value = parseFields(text) ?? JSON5.parse<unknown>(text);
    const rows = Object.entries(isFields(value) ? value : {}).flatMap(([key, row]) =>
      isFields(row) && typeof row["sessionId"] === "string" ? [[key, slim(row)] as const] : [],
    );
    return new Map(rows);
  } catch (error) {
    left.push({
      name: `sessions.json of ${id}`,
      why: `it cannot be read (${whyOf(error)}); its transcripts are taken without their chats`,
    });
    return new Map();
  }
}

const whyOf = (error: unknown): string => errorText(error).replace(/^it cannot be read: /, "");

interface OfFile {
  readonly agent: SourceAgent;
  readonly root: string;
  readonly file: string;
  readonly sessionId: string;
  readonly key: string | undefined;
  readonly row: Fields;
  readonly state: SourceConversation["state"];
}

async function ofFile({ agent, root, file, sessionId, key, row, state }: OfFile): Promise<SourceConversation> {
  const path = join(agent.sessions, file);
  const facts = await factsOf(path, root);
  const { size = 0, mtimeMs = 0, fault } = facts ?? {};
  const updatedAt = timeIn(row["updatedAt"]) ?? Math.floor(mtimeMs);
  return {
    id: `${agent.id}/${state === "current" ? sessionId : file}`,
    agent: agent.id,
    sessionId,
    key,
    state,
    row,
    updatedAt,
    version: `${size}/${mtimeMs}/${updatedAt}`,
    ...(fault !== undefined && { fault }),
    lines: facts ? () => transcriptLines(path, root) : undefined,
  };
}

async function factsOf(path: string, root: string): Promise<(Partial<SourceFile> & { fault?: string }) | undefined> {
  try {
    return await sourceFile(path, root);
  } catch (error) {
    return { fault: SourceFault.of(error).message };
  }
}

/** The end of the year 9999: later times cannot be written as dates of four digits. */
const LAST_TIME = 253_402_300_799_999;

/** Undefined for what is no time. */
function timeIn(value: unknown): number | undefined {
  const at = Math.floor(Number(value));
  return at > 0 && at <= LAST_TIME ? at : undefined;
}
