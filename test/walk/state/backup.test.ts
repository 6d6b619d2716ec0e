import { existsSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import type { Home } from "../../kit/gateway/process.ts";
import { test } from "../../kit/gateway/world.ts";
import { until } from "../../kit/until.ts";

/** A value of the journal, which no gateway has open. */
function valueIn({ stateDir }: Home, sql: string): unknown {
  const journal = new DatabaseSync(join(stateDir, "state", "journal.sqlite"), { readOnly: true });
  try {
    return Object.values(journal.prepare(sql).get() ?? {})[0];
  } finally {
    journal.close();
  }
}

test("a restored backup goes on with the conversation, and answers nothing that the original answered", async ({
  world,
}) => {
  const { home, gateway } = await world.start();
  world.model.answer(({ said }) => ({ text: `answer to ${said.slice(-5)}` }));
  world.telegram.say("the first");
  await world.told("answer to first");
  const job = ["cron", "add", "--name", "hourly", "--every", "1h", "--message", "look around"];
  expect((await home.run(job)).code).toBe(0);
  world.model.answer(() => ({ text: "the slow answer ".repeat(400), everyMs: 20 }));
  world.telegram.say("the second");
  await until(() => world.model.calls.length === 2);

  const made = await home.run(["backup", "create", "--verify", "--json", "--output", home.dir]);
  expect(JSON.parse(made.stdout)).toMatchObject({ verified: true, skippedVolatileCount: expect.any(Number) });
  const [file = ""] = readdirSync(home.dir).filter((name) => name.endsWith(".tar.gz"));
  world.model.answer(() => ({ text: "unused" }));
  await world.told(/the slow answer/);
  expect(await gateway.kill()).toBe(0);
  const answered = world.telegram.shown(1001).length;

  const other = await world.home(world.config());
  rmSync(other.stateDir, { recursive: true });
  const restored = await other.run(["backup", "restore", join(home.dir, file), "--target", other.stateDir]);
  expect(restored.stdout).toContain("1 messages that waited were ended");
  const held = await other.start();
  const { stdout } = await other.run(["sessions", "list", "--json"]);
  expect(stdout).toContain("telegram");
  expect(await other.run(["status"])).toMatchObject({ stdout: expect.stringContaining("restored from a backup") });
  expect(await other.run(["onboard", "--adopt"])).toMatchObject({
    code: 78,
    stderr: expect.stringContaining("STATE_LOCKED"),
  });
  expect(await held.kill()).toBe(0);

  const before = Date.now();
  expect((await other.run(["onboard", "--adopt"])).code).toBe(0);
  expect(valueIn(other, "SELECT state ->> '$.cursorMs' FROM cron_jobs")).toBeGreaterThanOrEqual(before);
  world.model.answer(({ said }) => ({ text: `now: ${said.slice(-5)}` }));
  const adopted = await other.start();
  world.telegram.say("the third");
  await world.told("now: third");
  expect(world.telegram.shown(1001)).toHaveLength(answered + 1);
  expect(JSON.stringify(world.model.calls.at(-1)?.messages)).toContain("answer to first");
  expect((await other.run(["inbox", "list", "--all", "--json"])).stdout).toContain(
    "stale: it waited when the backup was made",
  );
  expect(await adopted.kill()).toBe(0);

  // The original is not touched by any of this.
  expect(valueIn(home, "SELECT count(*) FROM inbox WHERE outcome LIKE '%replied%'")).toBe(2);
});

test("the gateway makes encrypted backups by itself, keeps the newest, and says when one fails", async ({ world }) => {
  const { home, gateway } = await world.start();
  const key = join(home.dir, "key.txt");
  const folder = join(home.dir, "backups");
  const { recipient } = JSON.parse((await home.run(["backup", "key", "--output", key, "--json"])).stdout);
  mkdirSync(folder);
  const old = ["2026-01-01T00-00-00.000+00-00", "2026-01-02T00-00-00.000+00-00"].map(
    (at) => `${at}-openclaw-backup.tar.gz`,
  );
  for (const name of [...old, "mine.tar.gz"]) writeFileSync(join(folder, name), "x");
  utimesSync(join(folder, old[0]!), 1, 1);
  const inside = await home.run(["backup", "enable", "--output", join(home.stateDir, "backups")]);
  expect(inside).toMatchObject({ code: 2, stderr: expect.stringContaining("BACKUP_REFUSED") });
  const never = await home.run(["backup", "enable", "--every", "no time", "--output", join(home.dir, "a", "b")]);
  expect(never.code, never.stdout).not.toBe(0);
  for (const refused of [join(home.stateDir, "backups"), join(home.dir, "a")]) expect(existsSync(refused)).toBe(false);
  const flags = [
    "--every",
    "24h",
    "--output",
    folder,
    "--keep",
    "2",
    "--recipient",
    recipient,
    "--no-include-workspace",
  ];
  expect((await home.run(["backup", "enable", ...flags])).code).toBe(0);
  expect(await gateway.kill()).toBe(0);

  const again = await home.start();
  await until(() => readdirSync(folder).some((name) => name.endsWith(".age")));
  await until(async () => JSON.parse((await home.run(["backup", "status", "--json"])).stdout).last !== undefined);
  const names = readdirSync(folder).toSorted();
  expect(names).toEqual([old[1], expect.stringMatching(/\.tar\.gz\.age$/), "mine.tar.gz"]);
  const made = join(folder, names[1]!);
  expect(await home.run(["backup", "verify", made])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("BACKUP_LOCKED"),
  });
  expect(await home.run(["backup", "verify", made, "--identity", key])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("It is sound"),
  });
  const restored = join(home.dir, "restored");
  await home.run(["backup", "restore", made, "--identity", key, "--target", restored]);
  expect(readdirSync(restored)).toContain("openclaw.json");
  expect(readdirSync(restored)).not.toContain("workspace");
  expect((await home.run(["backup", "status"])).stdout).toMatch(/every 1 d into .*encrypted.*Last: .*age.*Next: in /s);
  expect(await again.kill()).toBe(0);

  rmSync(folder, { recursive: true });
  writeFileSync(folder, "a file in its place");
  rmSync(join(home.stateDir, "state", "backups.json"));
  const third = await home.start();
  await until(async () => JSON.parse((await home.run(["backup", "status", "--json"])).stdout).error !== undefined);
  expect((await home.run(["doctor"])).stdout).toContain("The last backup failed");
  expect(await third.kill()).toBe(0);
});
