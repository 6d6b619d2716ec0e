import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startFakeModel } from "../fakes/model.ts";
import { startFakeTelegram } from "../fakes/telegram.ts";
import { isUp, makeHome, walkConfig, type Home } from "../kit/gateway/process.ts";
import { until } from "../kit/until.ts";

/** Values that no writer of the column writes. Where a row has JSON, SQLite refuses a text that is none in some columns. */
const ODD = ["5", "null", "[]", "{}", '"text"', '{"a":{"b":[null]}}', "{ torn"];

let telegram: Awaited<ReturnType<typeof startFakeTelegram>>;
let model: Awaited<ReturnType<typeof startFakeModel>>;
let home: Home;
let used: string;

const journalIn = (stateDir: string): string => join(stateDir, "state", "journal.sqlite");

beforeAll(async () => {
  telegram = await startFakeTelegram();
  model = await startFakeModel();
  model.answer(({ said }) => (said.includes("HANG") ? "hang" : { text: `answer to ${/K\w+$/.exec(said)?.[0]}` }));
  home = await makeHome(walkConfig(telegram, model, { commands: { ownerAllowFrom: ["1"] } }));
  const gateway = await home.start();
  await gateway.logged(isUp("telegram"));
  telegram.say("Kfirst", { from: { id: 1, first_name: "Ann" } });
  await until(() => telegram.shown(1).includes("answer to Kfirst"));
  const job = ["cron", "add", "--name", "daily", "--cron", "0 9 * * *", "--message", "look"];
  expect((await home.run(job)).code).toBe(0);
  telegram.say("HANG", { from: { id: 1, first_name: "Ann" } });
  await until(() => model.calls.some(({ said }) => said.includes("HANG")));
  await gateway.kill("SIGKILL");
  used = await mkdtemp(join(tmpdir(), "odd-state-"));
  await cp(home.stateDir, used, { recursive: true });
});
afterAll(async () => {
  await home.remove();
  await model.close();
  await telegram.close();
  await rm(used, { recursive: true });
});

/** Every text column of every table of a used journal that has a value, and the keys of its small values. */
function columnsOf(path: string): readonly string[] {
  const db = new DatabaseSync(path);
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'").all();
  const found = tables.flatMap(({ name: table }) => {
    if (table === "kept")
      return db
        .prepare("SELECT key FROM kept")
        .all()
        .map(({ key }) => `kept ${String(key)}`);
    return db
      .prepare(`SELECT name FROM pragma_table_info('${String(table)}') WHERE type = 'TEXT'`)
      .all()
      .map(({ name }) => `${String(table)} ${String(name)}`);
  });
  db.close();
  return found;
}

/** False where SQLite itself refuses the value. */
function spoil(path: string, place: string, value: string): boolean {
  const [table = "", ...rest] = place.split(" ");
  const name = rest.join(" ");
  const db = new DatabaseSync(path);
  try {
    if (table === "kept") db.prepare("UPDATE kept SET value = ? WHERE key = ?").run(value, name);
    else db.prepare(`UPDATE OR IGNORE ${table} SET ${name} = ? WHERE ${name} IS NOT NULL`).run(value);
    return true;
  } catch {
    return false;
  } finally {
    db.close();
  }
}

let words = 0;

describe("a gateway over a journal of which one column has values of a wrong shape", () => {
  test("starts, answers who writes now, and its doctor and lists work", async () => {
    const places = columnsOf(journalIn(used));
    expect(places.length).toBeGreaterThan(40);
    const failed: string[] = [];
    for (const place of places) {
      for (const value of ODD) {
        await rm(home.stateDir, { recursive: true });
        await cp(used, home.stateDir, { recursive: true });
        if (!spoil(journalIn(home.stateDir), place, value)) continue;
        const why = await lives();
        if (why !== undefined) failed.push(`${place} = ${value}: ${why}`);
        if (why !== undefined) console.log(failed.at(-1));
      }
    }
    expect(failed).toEqual([]);
  }, 3_600_000);
});

/** Undefined when all is well. */
async function lives(): Promise<string | undefined> {
  words += 1;
  const word = `Kword${words}`;
  try {
    const gateway = await home.start();
    try {
      await gateway.logged(isUp("telegram"));
      telegram.say(word, { from: { id: 2, first_name: "Bob" } });
      await expect.poll(() => telegram.shown(2).join("\n"), { timeout: 15_000, interval: 20 }).toContain(word);
      for (const args of [["inbox", "list", "--all"], ["doctor"]]) {
        const { stderr, stdout } = await home.run(args);
        if (/Cannot read|is not a function|expected \w+, received|OPENCLAW_DEBUG/.test(stderr + stdout))
          return `${args[0]}: ${stderr}${stdout}`.slice(0, 400);
      }
    } finally {
      await gateway.kill("SIGKILL");
    }
    return undefined;
  } catch (error) {
    return String(error).slice(0, 600);
  }
}
