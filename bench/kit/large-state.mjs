// Fills the state of a stopped gateway with many messages, replies, receipts and sessions. One message that the gateway answered before
// is the template of all rows, so they are as the gateway writes them.
import fs from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { STATE } from "./home.mjs";

/** A chat id that occurs in no other number. */
export const TEMPLATE_CHAT = 987_650_001;

const DAY_MS = 86_400_000;
/** A third of the messages is older than the 30 days that they are kept. */
const DAYS = 45;
/** One message in a hundred was too old when the gateway came back, and one reply in a hundred failed. */
const ODD = 100;

/** @param {{ messages: number, sessions: number }} size */
export function fillState({ messages, sessions }) {
  const db = new DatabaseSync(path.join(STATE, "state", "journal.sqlite"));
  db.exec("PRAGMA synchronous = OFF; BEGIN");
  const clone = cloner(db);
  const begin = Date.now() - DAYS * DAY_MS;
  for (let n = 1; n <= messages; n++) {
    addMessage(clone, { n, at: Math.floor(begin + (n / messages) * DAYS * DAY_MS), chat: chatOf(n % sessions) });
  }
  const used = (n) => Math.floor(begin + (n / sessions) * DAYS * DAY_MS);
  for (let n = 0; n < sessions; n++) addSession(clone, { chat: chatOf(n), at: used(n), id: idOf(n) });
  // The next start writes sessions.json anew.
  db.exec("DELETE FROM kept WHERE key = 'sessions.export'; COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
  fs.rmSync(path.join(STATE, "sessions", "sessions.json"), { force: true });
}

const chatOf = (n) => String(200_000_000 + n);
const idOf = (n) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;

/** Returns a function that adds a copy of a table's first row, with other values in some columns. */
function cloner(db) {
  const tables = new Map();
  const open = (table) => {
    const template = db.prepare(`SELECT * FROM ${table} LIMIT 1`).get();
    if (!template) throw new Error(`the gateway wrote no row of ${table}, so there is nothing to copy`);
    const columns = Object.keys(template);
    const places = columns.map(() => "?").join(", ");
    const insert = db.prepare(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${places})`);
    return { template, columns, insert };
  };
  return (table, change) => {
    if (!tables.has(table)) tables.set(table, open(table));
    const { template, columns, insert } = tables.get(table);
    const row = { ...template, ...change(template) };
    insert.run(...columns.map((column) => row[column]));
  };
}

const inChat = (text, chat) => text.replaceAll(String(TEMPLATE_CHAT), chat);

function addMessage(clone, { n, at, chat }) {
  const id = n + 1_000_000;
  const isOdd = n % ODD === 0;
  const eventKey = `copy-${n}`;
  const ids = { run_id: `copy-${n}`, turn_id: `copy-${n}` };
  const times = { accepted_at: at, claimed_at: at, done_at: at };
  clone("inbox", ({ message, session_key, outcome }) => ({
    id,
    message: JSON.stringify({
      ...JSON.parse(inChat(message, chat)),
      id: `${id}`,
      eventKey,
      receivedAt: at,
      sentAt: at,
    }),
    session_key: inChat(session_key, chat),
    outcome: isOdd ? JSON.stringify({ kind: "dropped", why: "stale: an outage" }) : outcome,
    ...ids,
    ...times,
  }));
  clone("seen", () => ({ event_key: eventKey, inbox_id: id, at }));
  clone("outbox", ({ target, body }) => ({
    id,
    inbox_id: id,
    reply_key: `in:${id}:reply`,
    target: inChat(target, chat),
    body: inChat(body, chat),
    message_id: `${id}`,
    created_at: at,
    sent_at: isOdd ? null : at,
    ...(isOdd && { state: "failed", error: "the chat was not found" }),
  }));
  clone("runs", ({ session_key, receipt }) => ({
    run_id: ids.run_id,
    session_key: inChat(session_key, chat),
    receipt: inChat(receipt, chat),
    at,
  }));
}

function addSession(clone, { chat, at, id }) {
  const file = path.join(STATE, "sessions", `${id}.jsonl`);
  clone("sessions", ({ key, row }) => {
    const template = JSON.parse(row);
    const transcript = fs.readFileSync(template.sessionFile, "utf8");
    fs.writeFileSync(file, inChat(transcript.replaceAll(template.sessionId, id), chat));
    const entry = { ...JSON.parse(inChat(row, chat)), sessionId: id, sessionFile: file, updatedAt: at };
    return { key: inChat(key, chat), row: JSON.stringify(entry), exported: null };
  });
}
