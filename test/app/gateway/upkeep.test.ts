import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { loadConfig } from "../../../src/app/config/load.ts";
import { resolvePaths } from "../../../src/app/config/paths.ts";
import { openCore } from "../../../src/app/compose/core.ts";
import { cleanUp, maintenanceOf } from "../../../src/app/gateway/lifecycle/cleanup.ts";
import { Live } from "../../../src/app/live.ts";
import { openLog } from "../../../src/app/log/log.ts";
import { recordLog } from "../../kit/log.ts";

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "upkeep-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function put(folder: string, name: string, days: number): Promise<void> {
  await mkdir(join(dir, folder), { recursive: true });
  await writeFile(join(dir, folder, name), "x");
  const then = new Date(Date.now() - days * 24 * 3600 * 1000);
  await utimes(join(dir, folder, name), then, then);
}

it("removes old logs and received files, and nothing else", async () => {
  await put("logs", "openclaw-2026-01-01.log", 31);
  await put("logs", "openclaw-2026-01-30.log", 29);
  await put("logs", "mine.txt", 400);
  await put("media", "old.png", 91);
  await put("media", "new.png", 89);
  await put("sessions", "a.jsonl", 900);
  const env = { HOME: dir, OPENCLAW_STATE_DIR: dir };
  const paths = resolvePaths(env);
  const live = new Live(paths, dir, await loadConfig({ path: paths.configPath, env }));
  const log = openLog({ level: "silent", consoleLevel: "silent", consoleStyle: "json" });
  const alone = { link: () => undefined, limits: () => undefined };
  const core = await openCore(live, log, {
    links: alone,
    gate: async () => ({ kind: "drop", why: "test" }),
    statusLines: () => [],
  });
  await cleanUp({ live, core, log, maintenance: maintenanceOf({ live, core, log }) });
  await core.close();
  expect((await readdir(join(dir, "logs"))).toSorted()).toEqual(["mine.txt", "openclaw-2026-01-30.log"]);
  expect(await readdir(join(dir, "media"))).toEqual(["new.png"]);
  expect(await readdir(join(dir, "sessions"))).toContain("a.jsonl");
});

it("removes the oldest files beyond the size, but none of the last day", async () => {
  const env = { HOME: dir, OPENCLAW_STATE_DIR: dir };
  const paths = resolvePaths(env);
  await writeFile(paths.configPath, JSON.stringify({ retention: { mediaMaxMb: 1, logsMaxMb: 1 } }));
  const half = "x".repeat(600_000);
  for (const [name, days] of [
    ["a.png", 9],
    ["b.png", 5],
    ["c.png", 2],
    ["d.png", 0],
    ["e.png", 0],
  ] as const) {
    await put("media", name, days);
    await writeFile(join(dir, "media", name), half);
    const then = new Date(Date.now() - days * 24 * 3600 * 1000);
    await utimes(join(dir, "media", name), then, then);
  }
  const live = new Live(paths, dir, await loadConfig({ path: paths.configPath, env }));
  const log = openLog({ level: "silent", consoleLevel: "silent", consoleStyle: "json" });
  const core = await openCore(live, log, {
    links: { link: () => undefined, limits: () => undefined },
    gate: async () => ({ kind: "drop", why: "test" }),
    statusLines: () => [],
  });
  await cleanUp({ live, core, log, maintenance: maintenanceOf({ live, core, log }) });
  await core.close();
  expect((await readdir(join(dir, "media"))).toSorted()).toEqual(["d.png", "e.png"]);
});

it("empties the trash of what the config does not keep", async () => {
  const env = { HOME: dir, OPENCLAW_STATE_DIR: dir };
  const paths = resolvePaths(env);
  await writeFile(paths.configPath, JSON.stringify({ retention: { trashDays: 3 } }));
  const named = (days: number) =>
    `${new Date(Date.now() - days * 24 * 3600 * 1000).toISOString().replaceAll(/[:.]/g, "-")}-workspace-x`;
  const [old, young] = [named(4), named(2)];
  for (const name of [old, young]) await put(join("trash", name), "notes.md", 900);
  const live = new Live(paths, dir, await loadConfig({ path: paths.configPath, env }));
  const log = openLog({ level: "silent", consoleLevel: "silent", consoleStyle: "json" });
  const core = await openCore(live, log, {
    links: { link: () => undefined, limits: () => undefined },
    gate: async () => ({ kind: "drop", why: "test" }),
    statusLines: () => [],
  });
  await cleanUp({ live, core, log, maintenance: maintenanceOf({ live, core, log }) });
  await core.close();
  expect(await readdir(join(dir, "trash"))).toEqual([young]);
});

it("continues with the other folders when one cannot be read", async () => {
  await put("media", "old.png", 91);
  await writeFile(join(dir, "logs"), "no folder");
  const env = { HOME: dir, OPENCLAW_STATE_DIR: dir };
  const paths = resolvePaths(env);
  const live = new Live(paths, dir, await loadConfig({ path: paths.configPath, env }));
  const log = recordLog();
  const core = await openCore(live, log, {
    links: { link: () => undefined, limits: () => undefined },
    gate: async () => ({ kind: "drop", why: "test" }),
    statusLines: () => [],
  });
  const told = { ...openLog({ level: "silent", consoleLevel: "silent", consoleStyle: "json" }), ...log };
  await cleanUp({ live, core, log: told, maintenance: maintenanceOf({ live, core, log: told }) });
  await core.close();
  expect(await readdir(join(dir, "media"))).toEqual([]);
  expect(log.lines).toContainEqual(expect.stringContaining("warn upkeep failed: ENOTDIR"));
});
