import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { readPlugin } from "../../src/plugins/manifest/read-plugin.ts";
import { TrialGuard } from "../../src/plugins/trial/guard.ts";
import type { TrialResult } from "../../src/plugins/trial/run-trials.ts";
import { forgetTrial, leftOutOf, readTrials, pluginStamp } from "../../src/plugins/trial/trials.ts";
import type { FoundPlugin } from "../../src/types/plugin/manifest.ts";
import { writePlugin } from "../kit/gateway/plugins.ts";
import { recordLog } from "../kit/log.ts";
import { until } from "../kit/until.ts";

let stateDir: string;
let root: string;
/** The ids of each round of trials. */
let tried: string[][];

beforeEach(() => {
  const dir = mkdtempSync(join(tmpdir(), "trial-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  stateDir = join(dir, "state");
  root = writePlugin(dir, { id: "strange", code: "export default () => {};" });
  tried = [];
});

async function strange(): Promise<FoundPlugin> {
  const read = await readPlugin(root, "config");
  if (read.kind !== "found") throw new Error("the plugin of the test is broken");
  return read.plugin;
}

const log = recordLog();
/** The guard of a new process, whose trials end so. */
const guard = (result: TrialResult = { outcome: "passed" }) =>
  new TrialGuard({
    stateDir,
    log,
    isAlone: true,
    tryOut: async (plugins) => {
      const ids = plugins.map(({ manifest }) => manifest.id);
      if (ids.length > 0) tried.push(ids);
      return new Map(ids.map((id) => [id, result]));
    },
  });

test("code that passed its trial is tried again only when its files change", async () => {
  expect(await guard().leftOut([await strange()])).toEqual(new Map());
  await guard().leftOut([await strange()]);
  expect(tried).toEqual([["strange"]]);
  mkdirSync(join(root, "lib"));
  writeFileSync(join(root, "lib/more.js"), "export {};");
  await guard().leftOut([await strange()]);
  expect(tried).toEqual([["strange"], ["strange"]]);
  mkdirSync(join(root, "node_modules"));
  writeFileSync(join(root, "node_modules/other.js"), "");
  writeFileSync(join(root, "notes.json"), "[]");
  await guard().leftOut([await strange()]);
  expect(tried).toHaveLength(2);
});

test("code that hung is left out, also by other processes, until somebody wants it tried again", async () => {
  const hung = { outcome: "hung", detail: "it kept a process busy for 10 s" } as const;
  const left = await guard(hung).leftOut([await strange()]);
  expect(left.get("strange")).toEqual({
    code: "PLUGIN_HANGS",
    why: "its code does not end: it kept a process busy for 10 s",
    fix: "Run: openclaw plugins update strange. To try the same version again: openclaw plugins enable strange",
  });
  expect(await guard().leftOut([await strange()])).toEqual(left);
  expect(await leftOutOf({ stateDir }, [await strange()])).toEqual(left);
  expect(tried).toHaveLength(1);
  expect(await forgetTrial({ stateDir }, "strange")).toMatchObject({ outcome: "hung", version: "1.2.3" });
  expect(await guard().leftOut([await strange()])).toEqual(new Map());
  expect(tried).toHaveLength(2);
});

test("a plugin in whose code the process ended is left out by the next process", async () => {
  const plugin = await strange();
  await guard().leftOut([plugin]);
  await guard().during(plugin, async () => "loaded");
  expect(await guard().leftOut([plugin])).toEqual(new Map());
  // The process ends in the midst of it.
  const { promise, resolve } = Promise.withResolvers<void>();
  const loading = Promise.withResolvers<void>();
  const during = guard().during(plugin, () => {
    loading.resolve();
    return promise;
  });
  await loading.promise;
  const left = await guard().leftOut([plugin]);
  expect(left.get("strange")).toMatchObject({ code: "PLUGIN_CRASHES" });
  expect(left.get("strange")?.why).toMatch(/^the gateway ended while this plugin was being loaded, at 2/);
  resolve();
  await during;
  expect((await guard().leftOut([plugin])).size).toBe(1);
  expect(await forgetTrial({ stateDir }, "strange")).toMatchObject({ outcome: "killed" });
  expect(await guard().leftOut([plugin])).toEqual(new Map());
  expect(Object.keys(await readTrials({ stateDir }))).toEqual(["strange"]);
  expect(await forgetTrial({ stateDir }, "strange")).toBeUndefined();
  expect(await readTrials({ stateDir })).toEqual({});
});

test("a plugin in whose code the process ended is left out also while nothing can be written", async () => {
  const plugin = await strange();
  await guard().leftOut([plugin]);
  const trials = join(stateDir, "plugins/trials.json");
  const [mark, tried] = [join(stateDir, "plugins/loading.json"), readFileSync(trials, "utf8")];
  writeFileSync(
    mark,
    JSON.stringify({ id: "strange", stamp: await pluginStamp(plugin), at: new Date().toISOString() }),
  );
  // A folder in its place cannot be replaced.
  rmSync(trials);
  mkdirSync(trials);
  writeFileSync(join(trials, "x"), "");
  const running = guard();
  expect((await running.leftOut([plugin])).get("strange")).toMatchObject({ code: "PLUGIN_CRASHES" });
  rmSync(trials, { recursive: true });
  writeFileSync(trials, tried);
  expect((await running.leftOut([plugin])).get("strange")).toMatchObject({ code: "PLUGIN_CRASHES" });
});

/** The plugin ends that many gateways, one after the other; how long ago each was in minutes. */
async function crash(...minutesAgo: number[]) {
  const plugin = await strange();
  for (const minutes of minutesAgo) {
    vi.setSystemTime(Date.now() - minutes * 60_000);
    const running = guard();
    await running.leftOut([plugin]);
    await running.during(plugin, async () => undefined);
    running.noteCrash("strange", "torn\n  apart");
    vi.useRealTimers();
  }
  return (await guard().leftOut([plugin])).get("strange");
}

test("a plugin that ended the gateway three times within ten minutes is left out until somebody wants it tried again", async () => {
  expect(await crash(3, 2)).toBeUndefined();
  const left = await crash(1);
  expect(left).toMatchObject({ code: "PLUGIN_CRASHES" });
  expect(left?.why).toMatch(/^its code ended the gateway 3 times within 10 minutes, at last at 2\S+: torn apart$/);
  expect((await guard().leftOut([await strange()])).size).toBe(1);
  expect(await forgetTrial({ stateDir }, "strange")).toMatchObject({ outcome: "ended" });
  expect(await crash(0)).toBeUndefined();
});

test("crashes in a longer time, and of other code, keep no plugin out", async () => {
  expect(await crash(12, 6, 1)).toBeUndefined();
  writeFileSync(join(root, "index.js"), "export default () => 'mended';");
  expect(await crash(0, 0)).toBeUndefined();
  expect(await crash(0)).toMatchObject({ code: "PLUGIN_CRASHES" });
});

test("a crash while another plugin is being loaded does not keep that one out", async () => {
  const [plugin, dir] = [await strange(), join(stateDir, "../other")];
  const read = await readPlugin(writePlugin(dir, { id: "other", code: "export default () => {};" }), "config");
  if (read.kind !== "found") throw new Error("the plugin of the test is broken");
  const running = guard();
  await running.during(plugin, async () => undefined);
  const loading = Promise.withResolvers<void>();
  const during = running.during(read.plugin, () => (loading.resolve(), new Promise(() => {})));
  await loading.promise;
  running.noteCrash("strange", "torn");
  // The start may go on for a moment.
  const later = running.during(read.plugin, () => (loading.resolve(), new Promise(() => {})));
  await until(() => JSON.parse(readFileSync(join(stateDir, "plugins/loading.json"), "utf8")).id === "other");
  expect(await guard().leftOut([plugin, read.plugin])).toEqual(new Map());
  expect(later).toBeInstanceOf(Promise);
  expect(during).toBeInstanceOf(Promise);
});

test("without a trial, and with files that cannot be read, plugins are loaded", async () => {
  const noProcess = new TrialGuard({
    stateDir,
    log,
    isAlone: true,
    tryOut: () => Promise.reject(new Error("no process")),
  });
  expect(await noProcess.leftOut([await strange()])).toEqual(new Map());
  expect(log.lines).toContain("warn plugins are loaded without a trial: no process");
  mkdirSync(join(stateDir, "plugins"), { recursive: true });
  writeFileSync(join(stateDir, "plugins/trials.json"), "{ broken");
  writeFileSync(join(stateDir, "plugins/loading.json"), '{"id":');
  expect(await guard().leftOut([await strange()])).toEqual(new Map());
  expect(JSON.parse(readFileSync(join(stateDir, "plugins/trials.json"), "utf8")).trials.strange.outcome).toBe("passed");
});
