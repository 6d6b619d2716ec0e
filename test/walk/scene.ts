import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test as base, vi } from "vitest";
import { startFakeModel, type FakeModel } from "../fakes/model.ts";
import { startFakeTelegram, type FakeTelegram, type TelegramCall } from "../fakes/telegram.ts";
import { makeHome, PATIENCE_MS, walkConfig, type GatewayUnderTest, type Home, type StartOptions } from "./gateway.ts";

/** For `vi.waitFor`, which by itself waits one second. */
export const PATIENCE = { timeout: PATIENCE_MS, interval: 20 };

export type Config = Record<string, unknown>;

/** One walk: a home of its own, a Telegram and a model. */
export class World {
  readonly telegram: FakeTelegram;
  readonly model: FakeModel;
  /** Whether answers grow in the chat, as edits or (the default) as drafts: on a busy machine any may, so most walks do without. */
  previews: boolean | "drafts" = false;
  readonly #homes: Home[] = [];

  constructor(telegram: FakeTelegram, model: FakeModel) {
    this.telegram = telegram;
    this.model = model;
  }

  /** The usual config with these keys over it. */
  config(more: Config = {}): Config {
    const edited = this.previews ? { nativeTransport: false } : { mode: "off" };
    const quiet = this.previews === "drafts" ? {} : { channels: { telegram: { streaming: edited } } };
    return merge(merge(walkConfig(this.telegram, this.model), quiet), more);
  }

  async home(config: Config = this.config()): Promise<Home> {
    const home = await makeHome(config);
    this.#homes.push(home);
    return home;
  }

  async start(more: Config = {}, options: StartOptions = {}): Promise<{ home: Home; gateway: GatewayUnderTest }> {
    const home = await this.home(this.config(more));
    return { home, gateway: await home.start(options) };
  }

  /** The first message or edit that says so. */
  told(text: string | RegExp, chat?: number): Promise<TelegramCall> {
    return this.telegram.waitFor((call) => {
      const isText = call.method === "sendMessage" || call.method === "editMessageText";
      const fits = typeof text === "string" ? call.text.includes(text) : text.test(call.text);
      return isText && fits && call.ok && (chat === undefined || call.chatId === String(chat));
    }, PATIENCE_MS);
  }

  /** Answers each call by the first rule that its user's words fit; echoes otherwise. */
  script(rules: readonly (readonly [RegExp, Parameters<FakeModel["answer"]>[0]])[]): void {
    this.model.answer((call, number) => {
      const rule = rules.find(([words]) => words.test(call.said));
      return rule ? rule[1](call, number) : { text: `echo: ${call.said}` };
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#homes.map((home) => home.remove()));
    await Promise.all([this.telegram.close(), this.model.close()]);
  }
}

export const test = base.extend<{ world: World }>({
  // eslint-disable-next-line no-empty-pattern
  world: async ({}, use) => {
    const world = new World(await startFakeTelegram(), await startFakeModel());
    await use(world);
    await world.close();
  },
});

function merge(below: Config, above: Config): Config {
  const merged = { ...below };
  for (const [key, value] of Object.entries(above)) {
    const old = merged[key];
    merged[key] = isRecord(old) && isRecord(value) ? merge(old, value) : value;
  }
  return merged;
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export interface InboxRow {
  readonly text: string;
  readonly state: string;
  readonly session: string | null;
  readonly outcome: Record<string, unknown> | undefined;
}

/** What the journal says of every message, oldest first. */
export function inboxOf(home: Home): readonly InboxRow[] {
  const journal = new DatabaseSync(join(home.stateDir, "state", "journal.sqlite"), { readOnly: true });
  try {
    const rows = journal.prepare("SELECT message, state, session_key, outcome FROM inbox ORDER BY id").all();
    return rows.map((row) => ({
      text: (JSON.parse(String(row["message"])) as { text: string }).text,
      state: String(row["state"]),
      session: row["session_key"] === null ? null : String(row["session_key"]),
      outcome: row["outcome"] === null ? undefined : (JSON.parse(String(row["outcome"])) as Record<string, unknown>),
    }));
  } finally {
    journal.close();
  }
}

/** The outcomes of the first `count` messages, once they are there. */
export function outcomesOf(home: Home, count: number): Promise<readonly (Record<string, unknown> | undefined)[]> {
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
export function sessionsOf(home: Home): Readonly<Record<string, StoredRow>> {
  const journal = new DatabaseSync(join(home.stateDir, "state", "journal.sqlite"), { readOnly: true });
  try {
    const rows = journal.prepare("SELECT key, row FROM sessions WHERE row IS NOT NULL").all();
    return Object.fromEntries(rows.map(({ key, row }) => [String(key), JSON.parse(String(row)) as StoredRow]));
  } finally {
    journal.close();
  }
}

/** `sessions.json`, as an orderly end leaves it. */
export function exportOf(home: Home): Readonly<Record<string, StoredRow>> {
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
export function entriesOf(file: string): readonly StoredEntry[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as StoredEntry);
}

/** The transcript of a session, by the end of its key. */
export function transcriptOf(home: Home, keyEnd: string): readonly StoredEntry[] {
  const rows = sessionsOf(home);
  const key = Object.keys(rows).find((name) => name.endsWith(keyEnd));
  if (key === undefined) throw new Error(`no session ${keyEnd} in ${Object.keys(rows).join(", ")}`);
  return entriesOf(fileOf(home, rows[key]!));
}

export const fileOf = (home: Home, row: StoredRow): string =>
  row.sessionFile?.startsWith("/")
    ? row.sessionFile
    : join(home.stateDir, "sessions", row.sessionFile ?? `${row.sessionId}.jsonl`);

/** Text of a message's content, without what is no text. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: { text?: string }) => part.text ?? "").join("");
}
