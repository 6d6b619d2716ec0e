import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { MIGRATIONS, OPENS_FROM, SCHEMA_VERSION } from "../../src/store/database/schema.ts";
import { openJournal } from "../../src/store/journal/journal.ts";
import { openJournalToRead } from "../../src/store/journal/read-only.ts";
import { nextMessage } from "../kit/inbound.ts";

/** What a step that only adds may say. A column needs a value for rows that an earlier version writes. */
const ADDITIONS = [
  /^CREATE TABLE \w+ \(/,
  /^CREATE INDEX \w+ ON /,
  /^ALTER TABLE \w+ ADD COLUMN \w+ \w+(?: NOT NULL DEFAULT \S.*| DEFAULT \S.*)?$/,
];
const isAddition = (statement: string): boolean => ADDITIONS.some((form) => form.test(statement));
const statementsOf = (sql: string): readonly string[] =>
  sql
    .split(";")
    .map((one) => one.trim().replaceAll(/\s+/g, " "))
    .filter((one) => one !== "");

test.each(MIGRATIONS.filter(({ isAdditive }) => isAdditive))(
  "the step from $from, which counts as additive, only adds",
  ({ sql }) => {
    expect(statementsOf(sql).filter((one) => !isAddition(one))).toEqual([]);
  },
);

test.each([
  ["ALTER TABLE inbox ADD COLUMN mood TEXT", true],
  ["ALTER TABLE inbox ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'", true],
  ["ALTER TABLE inbox ADD COLUMN mood TEXT NOT NULL", false],
  ["ALTER TABLE inbox ADD COLUMN mood TEXT UNIQUE", false],
  ["CREATE UNIQUE INDEX one ON inbox (mood)", false],
  ["CREATE TRIGGER one AFTER INSERT ON inbox BEGIN SELECT 1; END", false],
  ["DROP TABLE allowed", false],
  ["UPDATE inbox SET outcome = NULL", false],
])("%s adds only: %s", (statement, adds) => {
  expect(isAddition(statement)).toBe(adds);
});

async function journalOf(change: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "openclaw-versions-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const path = join(dir, "state", "journal.sqlite");
  const journal = await openJournal({ path, bootId: "b" });
  await journal.inbox.accept([nextMessage("kept")]);
  await journal.close();
  const db = new DatabaseSync(path);
  db.exec(`${change}; PRAGMA user_version = ${SCHEMA_VERSION + 1}`);
  db.close();
  return path;
}

const versionOf = (path: string): unknown => {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return db.prepare("PRAGMA user_version").get()?.["user_version"];
  } finally {
    db.close();
  }
};

test("a new journal says which versions work with it", async () => {
  const path = await journalOf("SELECT 1");
  const db = new DatabaseSync(path);
  onTestFinished(() => db.close());
  expect(db.prepare("SELECT value FROM kept WHERE key = 'schema:opens-from'").get()).toEqual({
    value: String(OPENS_FROM),
  });
});

test("a journal with additions of a newer version is worked with, and keeps its version", async () => {
  const path = await journalOf("ALTER TABLE inbox ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'");
  const journal = await openJournal({ path, bootId: "b", sync: "full" });
  await journal.inbox.accept([nextMessage("by the older one")]);
  expect(await journal.inbox.open()).toHaveLength(2);
  await journal.close();
  expect(versionOf(path)).toBe(SCHEMA_VERSION + 1);
});

test("an owner does not take the version back that another program has raised meanwhile", async () => {
  const path = await journalOf("PRAGMA user_version = 0");
  const db = new DatabaseSync(path);
  onTestFinished(() => db.close());
  db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
  const journal = await openJournal({ path, bootId: "b", sync: "full" });
  db.exec(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`);
  // Enough for the log to be begun anew.
  for (let at = 0; at < 400; at += 1) await journal.inbox.accept([nextMessage(`${at} ${"x".repeat(20_000)}`)]);
  await journal.close();
  expect(versionOf(path)).toBe(SCHEMA_VERSION + 1);
});

test("a journal that a newer version has changed is refused, and read as far as it is known", async () => {
  const path = await journalOf(
    `UPDATE kept SET value = '${SCHEMA_VERSION + 1}' WHERE key = 'schema:opens-from'; ALTER TABLE spend RENAME COLUMN period TO days`,
  );
  await expect(openJournal({ path, bootId: "b" })).rejects.toMatchObject({ code: "JOURNAL_NEWER" });
  const journal = await openJournalToRead(path);
  expect(await journal.inbox.open()).toHaveLength(1);
  expect(await journal.counts()).toMatchObject({ openInbox: 1 });
  await expect(journal.spend.lines({ scope: "agent", since: "2020-01-01", until: "2030-01-01" })).rejects.toMatchObject(
    { code: "JOURNAL_NEWER" },
  );
  await journal.close();
  expect(versionOf(path)).toBe(SCHEMA_VERSION + 1);
});
