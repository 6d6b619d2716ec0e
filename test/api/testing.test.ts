import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { contextEngineContract, openTestPlugin, pluginContract, type TestRunner } from "../../src/api/testing.ts";
import type { ContextEngine } from "../../src/types/engine/context-engine.ts";
import { writePlugin, type PluginFiles } from "../kit/gateway/plugins.ts";

const dir = mkdtempSync(join(tmpdir(), "testing-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

let plugins = 0;
/** Every plugin has a folder of its own: Node imports a file once. */
const rootOf = (plugin: PluginFiles) => writePlugin(join(dir, String(plugins++)), plugin);

/** The names of the tests of a suite that fail, in order. */
async function failing(suite: (runner: TestRunner) => void): Promise<readonly string[]> {
  const tests: { name: string; run: () => Promise<void> }[] = [];
  const ends: (() => Promise<void>)[] = [];
  const runner = {
    expect,
    describe: (_: string, add: () => void) => add(),
    test: (name: string, run: () => Promise<void>) => tests.push({ name, run }),
    afterEach: (end: () => Promise<void>) => ends.push(end),
  };
  suite(runner as unknown as TestRunner);
  const failed: string[] = [];
  for (const { name, run } of tests) {
    await run().catch(() => failed.push(name));
    for (const end of ends) await end();
  }
  expect(tests.length).toBeGreaterThan(3);
  return failed;
}

const LOADED = "is loaded, and adds something";
const SERVED = "uses only members and hooks that the gateway has";
const UNLOADED = "leaves nothing when it is unloaded, and adds the same when it is loaded again";
const DESCRIBED = "describes its tools to the model, with an object as their input";
const tools = { contracts: { tools: ["look"] } };

describe("the suite of plugins", () => {
  test.each<{ what: string; plugin: PluginFiles; failed: readonly string[] }>([
    {
      what: "a plugin that keeps it",
      plugin: {
        id: "good",
        manifest: tools,
        code: `export default (api) => api.registerTool({ name: "look", description: "Looks.", execute: () => "seen" });`,
      },
      failed: [],
    },
    {
      what: "one that throws in register",
      plugin: { id: "throws", code: `export default () => { throw new Error("no"); };` },
      failed: [LOADED, SERVED, UNLOADED, DESCRIBED],
    },
    {
      what: "one that adds nothing",
      plugin: { id: "idle", code: `export default () => {};` },
      failed: [LOADED],
    },
    {
      what: "one with a hook that the gateway never calls",
      plugin: {
        id: "deaf",
        code: `export default (api) => { api.on("never_called", () => {}); api.on("agent_end", () => {}); };`,
      },
      failed: [SERVED],
    },
    {
      what: "one whose registration changes",
      plugin: {
        id: "fickle",
        code: `let calls = 0; export default (api) => api.registerCommand({ name: "c" + calls++, handler() {} });`,
      },
      failed: [UNLOADED],
    },
    {
      what: "one whose tool has no description",
      plugin: {
        id: "mute",
        manifest: tools,
        code: `export default (api) => api.registerTool({ name: "look", execute: () => "" });`,
      },
      failed: [DESCRIBED],
    },
  ])("passes or fails for $what", async ({ plugin, failed }) => {
    const root = rootOf(plugin);
    expect(await failing((runner) => pluginContract(runner, { name: plugin.id, root }))).toEqual(failed);
  });
});

describe("the suite of context engines", () => {
  const good: ContextEngine = {
    info: { id: "good", name: "Good" },
    ingest: async () => ({ ingested: false }),
    assemble: async ({ messages }) => ({ messages, estimatedTokens: JSON.stringify(messages).length / 4 }),
    compact: async () => ({ ok: true, compacted: false, reason: "nothing to do" }),
  };
  const open = (changed: Partial<ContextEngine>) => () => ({ ...good, ...changed });

  test.each<{ what: string; changed: Partial<ContextEngine>; failed: number }>([
    { what: "one that keeps it", changed: {}, failed: 0 },
    { what: "one without a name", changed: { info: { id: "", name: "" } }, failed: 1 },
    {
      what: "one that compacts without a reason",
      changed: { compact: async () => ({ ok: true, compacted: false }) },
      failed: 1,
    },
    {
      what: "one that reverses the conversation",
      changed: { assemble: async ({ messages }) => ({ messages: messages.toReversed(), estimatedTokens: 1e9 }) },
      failed: 1,
    },
    {
      what: "one that says too little of its size",
      changed: { assemble: async ({ messages }) => ({ messages, estimatedTokens: 1 }) },
      failed: 1,
    },
  ])("passes or fails for $what", async ({ changed, failed }) => {
    const names = await failing((runner) => contextEngineContract(runner, { name: "it", open: open(changed) }));
    expect(names).toHaveLength(failed);
  });
});

describe("a plugin that a test opens", () => {
  test("runs its tools and hooks with its settings", async () => {
    const root = rootOf({
      id: "full",
      manifest: tools,
      code: `export default (api) => {
        api.registerTool({ name: "look", description: "Looks.", parameters: { type: "object", properties: { at: { type: "string" } }, required: ["at"] },
          execute: async (id, { at }) => at + " " + api.pluginConfig.colour });
        api.on("before_prompt_build", ({ prompt }, { agentId }) => ({ appendContext: prompt + " for " + agentId }));
      };`,
    });
    const plugin = await openTestPlugin({ root, config: { colour: "red" } });
    expect(await plugin.runTool("look", { at: "sky" })).toEqual({ content: [{ type: "text", text: "sky red" }] });
    await expect(plugin.runTool("look", {})).rejects.toThrow("at");
    await expect(plugin.runTool("listen", {})).rejects.toThrow('the plugin adds no tool "listen"');
    expect(await plugin.callHook("before_prompt_build", { prompt: "hi" })).toEqual([{ appendContext: "hi for main" }]);
    await expect(plugin.callHook("after_hours")).rejects.toThrow('this gateway calls no hook "after_hours"');
    expect(await plugin.close()).toEqual({ left: {} });
  });

  test("that cannot be loaded says why", async () => {
    await expect(openTestPlugin({ root: dir })).rejects.toThrow("has no openclaw.plugin.json");
    const broken = rootOf({ id: "broken", manifest: { configSchema: 7 }, code: "" });
    await expect(openTestPlugin({ root: broken })).rejects.toThrow("its openclaw.plugin.json is wrong");
    const silent = rootOf({ id: "silent", code: "export const nothing = 1;" });
    await expect(openTestPlugin({ root: silent })).rejects.toThrow("the plugin silent is not loaded: index.js exports");
  });
});

test("a plugin under test has its subagents answered at once", async () => {
  const code = `export default (api) => api.registerTool({
    name: "ask", description: "Asks.", parameters: { type: "object", properties: {} },
    async execute(callId, input, signal) {
      const { subagent } = api.runtime;
      const sessionKey = "agent:main:subagent:1";
      const { runId } = await subagent.run({ sessionKey, message: "look" });
      const ended = await subagent.waitForRun({ runId, timeoutMs: 1000, signal });
      const { messages } = await subagent.getSessionMessages({ sessionKey, limit: 1 });
      const { deleted } = await subagent.deleteSession({ sessionKey });
      return { content: messages.at(-1).content, details: { ...ended, deleted } };
    },
  });`;
  const manifest = { contracts: { tools: ["ask"] } };
  const plugin = await openTestPlugin({ root: rootOf({ id: "asker", code, manifest }) });
  expect(await plugin.runTool("ask", {})).toEqual({
    content: [{ type: "text", text: "An answer." }],
    details: { status: "ok", deleted: true },
  });
  await plugin.close();
});
