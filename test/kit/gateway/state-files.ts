import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { vi } from "vitest";
import { type Home, PATIENCE } from "./process.ts";
import { jsonLinesIn } from "../json-lines.ts";

/** A state directory, or what one account of the channels has in it. */
export type StatePlace = Pick<Home, "stateDir"> & { readonly account?: string };

const isOf = ({ account }: StatePlace, key: string): boolean => account === undefined || key.includes(`:${account}:`);

export interface InboxRow {
  readonly text: string;
  readonly state: string;
  readonly session: string | null;
  readonly outcome: Record<string, unknown> | undefined;
  /** The kind of its turn; unset when a person wrote it. */
  readonly kind?: string | undefined;
}

interface StoredMessage {
  readonly text: string;
  readonly options?: { readonly kind?: string };
  readonly from: { readonly account: string };
}

/** What the journal says of every message, oldest first. */
export function inboxOf(home: StatePlace): readonly InboxRow[] {
  const journal = new DatabaseSync(join(home.stateDir, "state", "journal.sqlite"), { readOnly: true });
  try {
    const rows = journal.prepare("SELECT message, state, session_key, outcome FROM inbox ORDER BY id").all();
    const all = rows.map((row) => ({ row, message: JSON.parse(String(row["message"])) as StoredMessage }));
    const ours = all.filter(({ message }) => home.account === undefined || message.from.account === home.account);
    return ours.map(({ row, message }) => ({
      text: message.text,
      kind: message.options?.kind,
      state: String(row["state"]),
      session: row["session_key"] === null ? null : String(row["session_key"]),
      outcome: row["outcome"] === null ? undefined : (JSON.parse(String(row["outcome"])) as Record<string, unknown>),
    }));
  } finally {
    journal.close();
  }
}

/** The outcomes of the first `count` messages, once they are there. */
export function outcomesOf(home: StatePlace, count: number): Promise<readonly (Record<string, unknown> | undefined)[]> {
  return vi.waitFor(() => {
    const done = inboxOf(home).filter((row) => row.state === "done");
    if (done.length < count) throw new Error(`${done.length} of ${count} messages are done`);
    return done.map((row) => row.outcome);
  }, PATIENCE);
}

export interface StoredRow {
  readonly sessionId: string;
  readonly sessionFile: string;
  readonly [field: string]: unknown;
}

/** The session rows of the journal. */
export function sessionsOf(home: StatePlace): Readonly<Record<string, StoredRow>> {
  const journal = new DatabaseSync(join(home.stateDir, "state", "journal.sqlite"), { readOnly: true });
  try {
    const rows = journal.prepare("SELECT key, row FROM sessions WHERE row IS NOT NULL").all();
    const ours = rows.filter(({ key }) => isOf(home, String(key)));
    return Object.fromEntries(ours.map(({ key, row }) => [String(key), JSON.parse(String(row)) as StoredRow]));
  } finally {
    journal.close();
  }
}

/** `sessions.json`, as an orderly end leaves it. */
export function exportOf(home: StatePlace): Readonly<Record<string, StoredRow>> {
  return JSON.parse(readFileSync(join(home.stateDir, "sessions", "sessions.json"), "utf8")) as Record<
    string,
    StoredRow
  >;
}

export interface StoredEntry {
  readonly type: string;
  readonly id: string;
  readonly message?: { readonly role: string; readonly content: unknown; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** The lines of a transcript file. */
export const entriesOf = (file: string): readonly StoredEntry[] => jsonLinesIn(file);

/** The transcript of a session, by the end of its key. */
export function transcriptOf(home: StatePlace, keyEnd: string): readonly StoredEntry[] {
  const rows = sessionsOf(home);
  const key = Object.keys(rows).find((name) => name.endsWith(keyEnd));
  if (key === undefined) throw new Error(`no session ${keyEnd} in ${Object.keys(rows).join(", ")}`);
  return entriesOf(fileOf(home, rows[key]!));
}

export const fileOf = (home: StatePlace, row: StoredRow): string =>
  row.sessionFile?.startsWith("/")
    ? row.sessionFile
    : join(home.stateDir, "sessions", row.sessionFile ?? `${row.sessionId}.jsonl`);

/** Text of a message's content, without what is no text. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: { text?: string }) => part.text ?? "").join("");
}

/** How many approval questions have arrived in chats, as far as the journal knows. */
export function questionsSent({ stateDir }: StatePlace): number {
  const journal = new DatabaseSync(join(stateDir, "state", "journal.sqlite"), { readOnly: true });
  try {
    const sent = "reply_key GLOB 'approval:*' AND reply_key NOT GLOB '*:end' AND state = 'sent'";
    return Number(journal.prepare(`SELECT count(*) AS count FROM outbox WHERE ${sent}`).get()?.["count"]);
  } finally {
    journal.close();
  }
}
