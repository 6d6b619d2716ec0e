import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { testPorts } from "../../testing/plugin-ports.ts";
import { Contributions } from "../../src/plugins/contributions.ts";
import { HeapWatch } from "../../src/plugins/host/heap-watch.ts";
import { EventLoopWatch } from "../../src/plugins/host/loop-watch.ts";
import { Plugins } from "../../src/plugins/host/plugins.ts";
import { RunningCode } from "../../src/plugins/api/running-code.ts";
import { PluginTimers } from "../../src/plugins/host/timers.ts";
import { PluginWatch } from "../../src/plugins/api/watch.ts";
import { readPlugin } from "../../src/plugins/manifest/read-plugin.ts";
import { writePlugin, type PluginFiles } from "../kit/gateway/plugins.ts";
import { manualClock } from "../kit/clock.ts";
import { recordLog } from "../kit/log.ts";
import { until } from "../kit/until.ts";

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "observe-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** A plugin that is loaded as the gateway does, and watched. */
async function load(code: string, manifest: PluginFiles["manifest"] = {}) {
  const dir = folder();
  const read = await readPlugin(writePlugin(dir, { id: "busy", code, manifest }), "config");
  if (read.kind !== "found") throw new Error("the plugin of the test is broken");
  const log = recordLog();
  const contributions = new Contributions([]);
  const plugins = new Plugins(contributions, { ...testPorts({ id: "busy", folder: dir, config: {} }), log });
  const end = await plugins.observe();
  onTestFinished(end);
  await plugins.apply({ plugins: [read.plugin], broken: [] });
  const cost = () => plugins.records[0]?.cost;
  return { plugins, contributions, log, cost };
}

const BLOCK = `const block = (ms) => { const end = performance.now() + ms; while (performance.now() < end); };`;

test("a plugin whose timers block the event loop or throw is named, and the gateway's timers are untouched", async () => {
  const { cost, log } = await load(`${BLOCK} export default () => {
    setTimeout(() => block(120), 1);
    setImmediate(() => { throw new Error("thrown in a timer"); });
  };`);
  await until(() => cost()?.blocked === 1);
  expect(cost()?.longest).toEqual({ what: "timeout", ms: expect.any(Number), at: expect.any(Number) });
  expect(cost()).toMatchObject({ failed: 1, lastError: "immediate: thrown in a timer" });
  expect(log.lines).toContain("warn a plugin blocked the gateway");
  expect(log.lines).toContain("error plugin failed: thrown in a timer");
});

test("a plugin that blocks the event loop after an await is named once callbacks are measured", async () => {
  const watch = new PluginWatch(recordLog());
  const loop = new EventLoopWatch(watch);
  onTestFinished(loop.follow());
  const code = new RunningCode("busy", "/nowhere");
  const block = () => {
    const end = performance.now() + 120;
    while (performance.now() < end);
  };
  loop.suspect();
  const ofGateway = async () => {
    await Promise.resolve();
    block();
  };
  await ofGateway();
  expect(watch.costOf("busy")).toBeUndefined();
  await watch.call(code, "tool", async () => {
    await Promise.resolve();
    block();
  });
  await until(() => watch.costOf("busy")?.blocked === 1);
  expect(watch.costOf("busy")?.longest?.what).toBe("a callback of its own");
  // What the gateway does for the plugin is not the plugin's.
  await watch.call(code, "tool", () => watch.outside(ofGateway));
  await new Promise((resolve) => setImmediate(resolve));
  expect(watch.costOf("busy")?.blocked).toBe(1);
});

test("a plugin whose code holds memory is named with what it holds, and one that lets go of it is not", async () => {
  const dir = folder();
  const watch = new PluginWatch(recordLog());
  const lines = recordLog();
  const named = new PluginWatch(lines);
  const code = (id: string) => {
    const root = writePlugin(dir, {
      id,
      code: `export const kept = []; export const take = (count) => { for (let i = 0; i < count; i++) kept.push({ i, list: [i] }); };`,
    });
    return new RunningCode(id, root);
  };
  const codes = [code("holds"), code("lets-go")];
  const heap = new HeapWatch(named, () => codes);
  onTestFinished(await heap.follow());
  for (const { id } of codes) {
    const { kept, take } = await import(join(dir, id, "index.js"));
    watch.call(codes[0]!, "tool", () => take(400_000));
    if (id === "lets-go") kept.length = 0;
  }
  expect(await heap.examine()).toBe(true);
  expect(named.costOf("holds")?.heapMb).toBeGreaterThan(16);
  expect(named.costOf("lets-go")).toBeUndefined();
  expect(lines.lines).toEqual(["warn the heap grew by what a plugin holds"]);
  // It holds no more than it did then.
  expect(await heap.examine()).toBe(false);
});

test("an unloaded plugin leaves nothing that it registered, and no interval", async () => {
  const active = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  const code = `import vm from "node:vm"; export default (api) => {
    api.registerTool({ name: "look", description: "Looks.", parameters: { type: "object" }, execute: () => "seen" });
    api.on("gateway_start", () => {});
    api.registerService({ id: "index", start() { globalThis.serves = true; }, stop() { globalThis.serves = false; } });
    api.registerGatewayMethod("busy.calls", () => {}, { scope: "operator.read" });
    api.registerHttpRoute({ path: "/busy", auth: "plugin", match: "exact", handler() {} });
    api.registerCli(() => {}, { commands: ["busy"] });
    api.registerContextEngine("busy", () => ({}));
    api.registerMemoryPromptSupplement(() => []);
    api.registerChannel({ plugin: { id: "busy-chat", meta: { label: "Busy" }, config: { listAccountIds: () => [], resolveAccount: () => ({}) } } });
    api.session.controls.registerSessionAction({ id: "count", handler: () => ({}) });
    globalThis.ticks = 0;
    setInterval(() => { globalThis.ticks++; }, 1);
    for (let i = 0; i < 20; i++) setInterval(() => {}, 1_000_000);
    const cleared = setInterval(() => {}, 1_000_000);
    clearInterval(cleared);
    eval("setInterval(() => { globalThis.ticks++; }, 1)");
    new Function("setInterval(() => { globalThis.ticks++; }, 1)")();
    vm.runInThisContext("(0, eval)('setInterval(() => { globalThis.ticks++; }, 1)')");
    vm.runInThisContext("setInterval(() => { globalThis.ticks++; }, 1)", "made-up.js");
    api.lifecycle.onDispose(() => { setImmediate(() => setInterval(() => { globalThis.late = true; }, 1)); });
    api.registerCommand({ name: "tick", description: "Ticks.", handler: () => ({ text: "tick" }) });
  };`;
  const manifest = { contracts: { tools: ["look"] }, channels: ["busy-chat"], cliCommands: ["busy"] };
  const { plugins, contributions, log } = await load(code, manifest);
  const kinds = Object.keys(contributions.namesOf("busy")).toSorted();
  expect(kinds).toEqual([
    "channels",
    "cliCommands",
    "commands",
    "engines",
    "hooks",
    "httpRoutes",
    "memorySupplements",
    "methods",
    "tools",
  ]);
  await plugins.start();
  expect([Reflect.get(globalThis, "serves"), plugins.action("busy", "count")]).toEqual([true, expect.any(Object)]);
  await until(() => Reflect.get(globalThis, "ticks") > 2);
  const loaded = active();
  await plugins.unload("busy");
  expect(log.lines).toContain("info intervals that a plugin left are ended");
  const ticks = Reflect.get(globalThis, "ticks");
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(Reflect.get(globalThis, "ticks")).toBe(ticks);
  expect(Reflect.get(globalThis, "late")).toBeUndefined();
  expect(contributions.namesOf("busy")).toEqual({});
  expect([Reflect.get(globalThis, "serves"), plugins.action("busy", "count")]).toEqual([false, undefined]);
  expect([plugins.records, contributions.hooksOf("gateway_start")]).toEqual([[], []]);
  // Others of this process may have set a few meanwhile.
  expect(active()).toBeLessThan(loaded - 15);
});

test("work of an unloaded plugin may end, and a chain of timeouts does not go on for ever", async () => {
  const watch = new PluginWatch(recordLog());
  const timers = new PluginTimers(watch, 60);
  onTestFinished(timers.follow());
  const root = writePlugin(folder(), {
    id: "busy",
    code: `export const steps = [];
      export const work = async () => { await new Promise((resolve) => setTimeout(resolve, 20)); steps.push("work"); };
      export const chain = () => setTimeout(() => { steps.push("chain"); chain(); }, 5);`,
  });
  const { steps, work, chain } = await import(join(root, "index.js"));
  const code = new RunningCode("busy", root);
  const working = watch.inside(code, () => work());
  watch.inside(code, () => chain());
  expect(timers.end(code)).toBe(0);
  await working;
  expect(steps).toContain("work");
  await new Promise((resolve) => setTimeout(resolve, 80));
  const after = steps.length;
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(steps).toHaveLength(after);
});

test("a call that is pending after its limit has failed, and counts once", async () => {
  const watch = new PluginWatch(recordLog());
  const code = new RunningCode("busy", "/busy");
  const clock = manualClock();
  const late = vi.fn();
  const { promise, reject } = Promise.withResolvers<void>();
  watch.call(code, "engine assemble", () => promise, { ms: 1000, clock, late }).catch(() => undefined);
  await watch.call(code, "engine ingest", async () => undefined, { ms: 1000, clock, late });
  expect(watch.costOf("busy")).toMatchObject({ calls: 2, failed: 0 });
  clock.pass(1000);
  expect(watch.costOf("busy")).toMatchObject({ failed: 1, lastError: "engine assemble: no answer within 1000 ms" });
  reject(new Error("after all"));
  await promise.catch(() => undefined);
  expect(watch.costOf("busy")).toMatchObject({ calls: 2, failed: 1 });
  expect(late).toHaveBeenCalledTimes(1);
});
