import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { expect } from "vitest";
import { SCHEMA_VERSION } from "../../../src/store/database/schema.ts";
import { type GatewayUnderTest, type Home, PATIENCE_MS } from "../../kit/gateway/process.ts";
import { call } from "../../kit/gateway/rpc.ts";
import { inboxOf, sessionsOf } from "../../kit/gateway/state-files.ts";
import { test, type World } from "../../kit/gateway/world.ts";
import { EARLIER, unpackEarlierState } from "../../kit/store/earlier-state.ts";
import { until } from "../../kit/until.ts";
import { ADA, BO, KEPT, obey, order, say } from "./used-state.ts";

/** Who wrote last, and has no answer. */
const GUEST = 3003;
/** Who was let in, and who waits with a code. */
const FRIEND = 4001;
const STRANGER = 4002;

/** The gateway starts a minute after the earlier one was killed, so that nothing is too old whenever the test runs. */
const clock = () => ({
  NODE_OPTIONS: `--import ${pathToFileURL(join(import.meta.dirname, "../../kit/gateway/late-clock.mjs")).href}`,
  CLOCK_LATE_MS: String(Date.now() - EARLIER.killedAt - 60_000),
});

const rowsOf = (file: string, sql: string): readonly Record<string, unknown>[] => {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return db
      .prepare(sql)
      .all()
      .map((row) => ({ ...row }));
  } finally {
    db.close();
  }
};
const journalOf = ({ stateDir }: Home): string => join(stateDir, "state", "journal.sqlite");

/** A home with the earlier directory. Its own config stays, with the addresses of this world. */
async function earlierHome(world: World): Promise<Home> {
  const home = await world.home();
  await unpackEarlierState(home.stateDir);
  const config = JSON.parse(readFileSync(home.configPath, "utf8"));
  config.models.providers.fake.baseUrl = world.model.url;
  config.channels.telegram.apiRoot = world.telegram.url;
  await home.writeConfig(config);
  world.telegram.skipIds(1000);
  return home;
}

async function answersWhatWasLeft(world: World): Promise<void> {
  await world.told(/^\(possible repeat\) part one/, ADA);
  await world.told(/^part two/, ADA);
  await world.told("owed to Bo", BO);
  await world.told("hang on to this", GUEST);
  await world.told("and this waits", GUEST);
}

async function remembers(world: World, gateway: GatewayUnderTest): Promise<void> {
  await say(world, "what was it?", BO);
  const asked = world.model.calls.find(({ said }) => said.includes("what was it?"));
  expect(JSON.stringify(asked?.messages)).toContain("remember the walnut");
  const { sessions }: { sessions: Record<string, unknown>[] } = Object(await call(gateway, "sessions.list"));
  expect(sessions.find(({ key }) => String(key).endsWith(`telegram:default:${BO}`))).toMatchObject({
    thinkingLevel: "high",
  });
  const history = JSON.stringify(await call(gateway, "chat.history", { sessionKey: KEPT }));
  expect(history).toContain("echo: said on the page");
  expect(await say(world, order("memory_search", { query: "Which code opens the gate?" }))).toContain("4417");
}

async function knowsPeople(world: World, home: Home, env: Record<string, string>): Promise<void> {
  expect(await say(world, "still in?", FRIEND)).toContain("still in?");
  const listed = await home.run(["pairing", "list", "--json"], env);
  const { requests, turnedAway } = JSON.parse(listed.stdout);
  expect(requests.map(({ senderId }: { senderId: string }) => senderId)).toEqual(["4002", "4003", "4004"]);
  expect(turnedAway).toMatchObject([{ senderId: "4005" }]);
  const approved = await home.run(["pairing", "approve", "telegram", requests[0].code], env);
  expect(approved.code, approved.stderr).toBe(0);
  expect(await say(world, "thank you", STRANGER)).toContain("thank you");
}

async function hasJobs(gateway: GatewayUnderTest, { stateDir }: Home): Promise<void> {
  const { jobs }: { jobs: { id: string; name: string }[] } = Object(await call(gateway, "cron.list"));
  expect(jobs.map(({ name }) => name).toSorted()).toEqual(["daily", "new year", "tend"]);
  const id = jobs.find(({ name }) => name === "tend")?.id;
  const runs = async (): Promise<{ summary?: string }[]> => Object(await call(gateway, "cron.runs", { id })).entries;
  expect(await runs()).toHaveLength(1);
  await call(gateway, "cron.run", { id });
  await until(async () => (await runs()).length === 2, "the job's end", PATIENCE_MS);
  expect((await runs())[0]?.summary).toBe(`${stateDir}/workspace/garden\ntulips`);
}

test("a directory of the oldest schema that opens goes on with everything that is in it", async ({ world }) => {
  obey(world);
  const home = await earlierHome(world);
  const sessions = sessionsOf(home);
  const index = join(home.stateDir, "state", "memory", "main.sqlite");
  const generations = rowsOf(index, "SELECT id, identity FROM generations");
  const approvals = readFileSync(join(home.stateDir, "exec-approvals.json"), "utf8");
  expect(rowsOf(journalOf(home), "PRAGMA user_version")).toEqual([{ user_version: 18 }]);

  const env = clock();
  const gateway = await home.start({ env });
  await answersWhatWasLeft(world);
  await remembers(world, gateway);
  await knowsPeople(world, home, env);
  await hasJobs(gateway, home);
  const doctor = await home.run(["doctor"], env);
  expect(doctor.code, doctor.stdout).toBe(0);
  expect(doctor.stdout.split("\n").filter((line) => line.startsWith("warn"))).toEqual([
    expect.stringContaining("workspace: names where this state directory was before"),
    expect.stringContaining("2 people wait to be let in, one person was turned away"),
  ]);
  expect(await gateway.kill()).toBe(0);

  expect(rowsOf(journalOf(home), "PRAGMA user_version")).toEqual([{ user_version: SCHEMA_VERSION }]);
  expect(inboxOf(home).filter(({ state }) => state !== "done")).toEqual([]);
  const ids = (rows: ReturnType<typeof sessionsOf>) => Object.entries(rows).map(([key, row]) => [key, row.sessionId]);
  expect(ids(sessionsOf(home))).toEqual(expect.arrayContaining(ids(sessions)));
  // Neither the index nor the rules were made again.
  expect(rowsOf(index, "SELECT id, identity FROM generations")).toEqual(generations);
  expect(readFileSync(join(home.stateDir, "exec-approvals.json"), "utf8")).toBe(approvals);
  expect(existsSync(join(home.stateDir, "events.jsonl"))).toBe(true);
});
