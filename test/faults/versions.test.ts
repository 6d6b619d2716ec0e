import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SCHEMA_VERSION } from "../../src/store/database/schema.ts";
import { ADDS, makeNextRelease } from "../kit/gateway/next-release.ts";
import { ADA, useFaultFixture } from "./fixture.ts";

const fixture = useFaultFixture();
let folder: string;
const program = (name: string) => join(folder, name, "bin", "openclaw.mjs");

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openclaw-next-"));
  await makeNextRelease(join(folder, "adds"), { version: "0.2.0", step: { isAdditive: true, sql: ADDS } });
  await makeNextRelease(join(folder, "changes"), { version: "0.3.0", step: { isAdditive: false, sql: ADDS } });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const journal = () => join(fixture().home.stateDir, "state", "journal.sqlite");

function inJournal(sql: string): unknown {
  const db = new DatabaseSync(journal());
  try {
    return db
      .prepare(sql)
      .all()
      .map((row) => ({ ...row }));
  } finally {
    db.close();
  }
}

/** Runs a version until its message is being answered, and kills it then. */
async function killedWhileAnswering(text: string): Promise<void> {
  const { home, model, telegram } = fixture();
  const gateway = await home.start();
  const asked = new Promise<void>((resolve) => {
    model.answer((call) => {
      if (call.said.includes(text)) resolve();
      return "hang";
    });
  });
  telegram.say(text);
  await asked;
  await gateway.kill("SIGKILL");
}

/** Runs a version until the message of the killed one and another one are answered, and kills it then. */
async function answersAndIsKilled(left: string, text: string): Promise<void> {
  const { home, model, telegram } = fixture();
  model.answer((call) => ({ text: `echo: ${call.said}` }));
  const gateway = await home.start();
  await telegram.waitFor((call) => call.ok && call.text.includes("echo:") && call.text.includes(left));
  await fixture().goesOn(text);
  await gateway.kill("SIGKILL");
}

test("the version before goes on with what the next one left, and the next one with that, each after a kill", async () => {
  const { home } = fixture();
  await killedWhileAnswering("first, by this version");
  home.program = program("adds");
  await answersAndIsKilled("first, by this version", "second, by the next");
  expect(inJournal("PRAGMA user_version")).toEqual([{ user_version: SCHEMA_VERSION + 1 }]);
  inJournal("UPDATE inbox SET mood = 'cheerful'");
  inJournal("UPDATE sessions SET colour = 'green'");
  await killedWhileAnswering("third, by the next");

  delete home.program;
  const doctor = await home.run(["doctor"]);
  expect(doctor.stdout).toContain("A newer version has added to it");
  expect(doctor.code).toBe(0);
  await answersAndIsKilled("third, by the next", "fourth, by this version");
  await killedWhileAnswering("fifth, by this version");
  expect(inJournal("PRAGMA user_version")).toEqual([{ user_version: SCHEMA_VERSION + 1 }]);
  expect(inJournal("SELECT DISTINCT colour FROM sessions WHERE colour IS NOT NULL")).toEqual([{ colour: "green" }]);
  expect(inJournal("SELECT mood, count(*) AS n FROM inbox GROUP BY mood ORDER BY mood")).toEqual([
    { mood: "calm", n: 3 },
    { mood: "cheerful", n: 2 },
  ]);

  home.program = program("adds");
  await answersAndIsKilled("fifth, by this version", "sixth, by the next");
  expect(inJournal("PRAGMA quick_check(1)")).toEqual([{ quick_check: "ok" }]);
  for (const word of ["first", "second", "third", "fourth", "fifth", "sixth"])
    expect(fixture().shown(`${word}, by`, ADA).length, word).toBeGreaterThan(0);
});

test("a journal that a newer version has changed is read by doctor, export and backup, and refused by the gateway", async () => {
  const { home } = fixture();
  home.program = program("changes");
  const gateway = await home.start();
  await fixture().goesOn("said to the newer one");
  await gateway.kill("SIGKILL");

  delete home.program;
  const before = inJournal("PRAGMA user_version");
  expect(before).toEqual([{ user_version: SCHEMA_VERSION + 1 }]);
  const run = await home.run(["gateway", "run"]);
  expect(run.code).toBe(78);
  expect(run.stdout + run.stderr).toMatch(/JOURNAL_NEWER[^]*openclaw update[^]*restore a backup/);

  const doctor = await home.run(["doctor"]);
  expect(doctor.stdout).toMatch(/Journal readable[^]*openclaw update/);
  expect(doctor.stdout).toContain("Free disk space");
  const to = join(home.dir, "exported");
  const exported = await home.run(["export", "--to", to]);
  expect(exported.code, exported.stderr).toBe(0);
  expect(existsSync(join(to, "openclaw.json"))).toBe(true);
  const backup = await home.run(["backup", "create", "--output", join(home.dir, "backups"), "--verify"]);
  expect(backup.code, backup.stderr + backup.stdout).toBe(0);
  expect(inJournal("PRAGMA user_version")).toEqual(before);

  home.program = program("changes");
  await home.start();
  await fixture().goesOn("and back with the newer one");
});
