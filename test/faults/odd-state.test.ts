import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startFakeModel } from "../fakes/model.ts";
import { startFakeTelegram } from "../fakes/telegram.ts";
import { isUp, makeHome, walkConfig, type Home } from "../kit/gateway/process.ts";
import { until } from "../kit/until.ts";

/** No column has such a value. It is JSON, because SQLite's indexes refuse anything else in some columns. */
const ODD = "{}";

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
function spoil(path: string, place: string): boolean {
  const [table = "", ...rest] = place.split(" ");
  const name = rest.join(" ");
  const db = new DatabaseSync(path);
  try {
    if (table === "kept") db.prepare("UPDATE kept SET value = ? WHERE key = ?").run(ODD, name);
    else db.prepare(`UPDATE OR IGNORE ${table} SET ${name} = ? WHERE ${name} IS NOT NULL`).run(ODD);
    return true;
  } catch {
    return false;
  } finally {
    db.close();
  }
}

test("a gateway starts and answers over a journal of which any one column has values of a wrong shape", async () => {
  const places = columnsOf(journalIn(used));
  expect(places.length).toBeGreaterThan(40);
  const failed: string[] = [];
  for (const [at, place] of places.entries()) {
    await rm(home.stateDir, { recursive: true });
    await cp(used, home.stateDir, { recursive: true });
    if (!spoil(journalIn(home.stateDir), place)) continue;
    const why = await lives(`Kword${at}`);
    if (why !== undefined) failed.push(`${place}: ${why}`);
  }
  expect(failed).toEqual([]);
  for (const command of [["inbox", "list", "--all"], ["outbox", "list", "--all"], ["cron", "list"], ["doctor"]])
    expect((await home.run(command)).stderr).not.toContain("OPENCLAW_DEBUG");
}, 900_000);

/** Undefined when it starts and answers. */
async function lives(word: string): Promise<string | undefined> {
  try {
    const gateway = await home.start();
    await gateway.logged(isUp("telegram"));
    telegram.say(word, { from: { id: 2, first_name: "Bob" } });
    await until(() => telegram.shown(2).join().includes(word));
    await gateway.kill("SIGKILL");
    return undefined;
  } catch (error) {
    await home.latest?.kill("SIGKILL");
    return String(error).slice(0, 600);
  }
}
