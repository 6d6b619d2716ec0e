import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe } from "vitest";
import { z } from "zod";
import type { GatewayUnderTest, Home } from "../kit/gateway/process.ts";
import { test, type World } from "../kit/gateway/world.ts";
import { writePlugin, type PluginFiles } from "../kit/gateway/plugins.ts";
import { ask, call } from "../kit/gateway/rpc.ts";
import { until } from "../kit/until.ts";

const NO_CHANNELS = { channels: { telegram: { enabled: false } } };

/** Installs plugins into the extensions of a new home and starts it. */
async function startWith(world: World, plugins: readonly PluginFiles[], config: object = {}) {
  const entries = Object.fromEntries(plugins.map(({ id }) => [id, { enabled: true }]));
  const home = await world.home(world.config({ ...NO_CHANNELS, plugins: { entries, ...config } }));
  for (const plugin of plugins) writePlugin(join(home.stateDir, "extensions"), plugin);
  return { home, gateway: await home.start() };
}

const output = async (home: Home, ...args: string[]) => (await home.run(args)).stdout;

/** All lines of the log files. */
const logOf = (home: Home): string => {
  const logs = join(home.stateDir, "logs");
  return readdirSync(logs)
    .map((name) => readFileSync(join(logs, name), "utf8"))
    .join("");
};

const listed = z.object({
  plugins: z.array(z.looseObject({ id: z.string(), state: z.string(), why: z.string().optional() })),
});
async function recordsOf(gateway: GatewayUnderTest) {
  const { plugins } = listed.parse(await call(gateway, "plugins.loaded"));
  return new Map(plugins.map((plugin) => [plugin.id, plugin]));
}

/** A plugin that adds one thing of each kind, in the form that plugins of the field have. */
const NOTEBOOK: PluginFiles = {
  id: "notebook",
  manifest: { kind: "context-engine", contracts: { tools: ["note_count"] }, cliCommands: ["notebook"] },
  code: `
import { delegateCompactionToRuntime } from "openclaw/plugin-sdk/core";
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";
import { createRequire } from "node:module";
const { redactSensitiveText } = createRequire(import.meta.url)("openclaw/plugin-sdk/logging-core");
const calls = [];
export default definePluginEntry({
  id: "notebook",
  register(api) {
    api.registerTool((context) => ({
      name: "note_count",
      description: "Counts notes",
      parameters: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
      execute: async (id, { word }) => ({ content: [{ type: "text", text: "7 notes with " + word + " in " + typeof context.sessionId }] }),
    }), { name: "note_count" });
    api.registerCommand({ name: "notes", description: "Lists notes.", acceptsArgs: true, handler: ({ args }) => ({ text: "notes about " + args }) });
    api.on("before_prompt_build", () => ({ prependSystemContext: "The notebook lies open." }));
    api.registerService({ id: "index", start: () => { calls.push("service starts"); }, stop: () => { api.logger.info("service stops"); } });
    api.registerGatewayMethod("notebook.calls", ({ respond }) => respond(true, { calls }), { scope: "operator.read" });
    api.registerHttpRoute({ path: "/notebook", auth: "plugin", match: "exact", handler: (request, response) => { response.end("open page"); } });
    api.registerHttpRoute({ path: "/notebook/private", auth: "gateway", match: "prefix", handler: (request, response) => { response.end("private page"); } });
    api.registerCli(({ program }) => { program.command("notebook").argument("<word>").action((word) => { process.stdout.write("notebook says " + word + "\\n"); }); }, { commands: ["notebook"] });
    // No manifest names this one.
    api.registerCli(({ program }) => { program.command("scribble").action(() => { process.stdout.write("in mode " + api.registrationMode); }); }, { commands: ["scribble"] });
    api.session.controls.registerSessionAction({ id: "count", handler: ({ payload }) => ({ counted: payload.of }) });
    api.registerContextEngine("notebook", () => ({
      info: { id: "notebook", name: redactSensitiveText("Notebook"), ownsCompaction: false },
      ingest: async () => ({ ingested: true }),
      assemble: async ({ messages, sessionKey }) => { calls.push("assemble"); return { messages, estimatedTokens: 10, systemPromptAddition: "Notes come first." }; },
      afterTurn: async () => { calls.push("afterTurn"); },
      compact: (params) => delegateCompactionToRuntime(params),
    }));
  },
});`,
};

describe.concurrent("a plugin of the field", () => {
  test("adds its engine, tool, hook, command, service, method, routes, action and command line", async ({
    world,
    expect,
  }) => {
    const { home, gateway } = await startWith(world, [NOTEBOOK], { slots: { contextEngine: "notebook" } });
    world.model.answer((asked) =>
      asked.isAfterTool ? { text: `done: ${asked.toolText}` } : { tool: "note_count", args: { word: "milk" } },
    );
    expect(await output(home, "agent", "--message", "count my notes")).toContain("done: 7 notes with milk in string");
    const { system } = world.model.calls[0]!;
    expect(system).toContain("The notebook lies open.");
    expect(system).toContain("Notes come first.");
    expect(await ask(home, "/notes milk")).toContain("notes about milk");
    await until(async () => JSON.stringify(await call(gateway, "notebook.calls")).includes("afterTurn"));
    expect(await call(gateway, "notebook.calls")).toEqual({ calls: ["service starts", "assemble", "afterTurn"] });
    const action = { pluginId: "notebook", actionId: "count", payload: { of: 3 } };
    expect(await call(gateway, "plugins.sessionAction", action)).toEqual({ ok: true, result: { counted: 3 } });
    const page = (path: string, headers = {}) => fetch(`http://127.0.0.1:${gateway.port}${path}`, { headers });
    expect(await (await page("/notebook")).text()).toBe("open page");
    expect((await page("/notebook/private/x")).status).toBe(401);
    const authorization = `Bearer ${gateway.token}`;
    expect(await (await page("/notebook/private/x", { authorization })).text()).toBe("private page");
    expect((await home.run(["notebook", "hello"])).stdout).toBe("notebook says hello\n");
    expect((await home.run(["scribble"])).stdout).toBe("in mode full");
    expect((await home.run(["scrible"])).stderr).toContain("unknown command 'scrible'");
    const shown = (await home.run(["plugins", "inspect", "notebook", "--runtime"])).stdout;
    expect(shown).toMatch(/engines +notebook/);
    expect(shown).toMatch(/calls +\d+, \d+ ms of the gateway's time, 0 failed/);
    expect((await home.run(["plugins", "inspect", "nobody", "--runtime"])).code).toBe(1);
    expect((await home.run(["doctor", "--only", "context-engine"])).stdout).toContain(
      `notebook 1.2.3 is active in the running gateway, of the plugin notebook in ${join(home.stateDir, "extensions/notebook")}.`,
    );
    expect((await recordsOf(gateway)).get("notebook")).toMatchObject({
      state: "loaded",
      version: "1.2.3",
      added: { engines: ["notebook"], tools: ["note_count"], commands: ["notes"], hooks: ["before_prompt_build"] },
    });
  });

  test("is loaded from a path that the config names", async ({ world, expect }) => {
    const home = await world.home(world.config(NO_CHANNELS));
    const root = writePlugin(join(home.dir, "mine"), NOTEBOOK);
    await home.writeConfig(world.config({ ...NO_CHANNELS, plugins: { load: { paths: [root] } } }));
    await home.start();
    expect(await ask(home, "/notes milk")).toContain("notes about milk");
  });

  test("is unloaded when the config disables it, and loaded again, without a restart", async ({ world, expect }) => {
    const { home, gateway } = await startWith(world, [NOTEBOOK]);
    expect(await ask(home, "/notes milk")).toContain("notes about milk");
    const set = (value: string) => home.run(["config", "set", "plugins.entries.notebook.enabled", value]);
    expect((await set("false")).code).toBe(0);
    await gateway.logged("plugin unloaded");
    expect(gateway.output).toContain("service stops");
    expect(await ask(home, "/notes milk")).not.toContain("notes about");
    expect((await fetch(`http://127.0.0.1:${gateway.port}/notebook`)).status).toBe(404);
    await expect(call(gateway, "notebook.calls")).rejects.toThrow("Unknown method");
    await set("true");
    await until(async () => (await recordsOf(gateway)).get("notebook")?.state === "loaded");
    expect(await ask(home, "/notes milk")).toContain("notes about milk");
  });

  test("reads no conversation through its hooks until it may", async ({ world, expect }) => {
    const { home, gateway } = await startWith(world, [NOTEBOOK]);
    const refused = await gateway.logged((line) => line["hook"] === "before_prompt_build");
    expect(refused["fix"]).toContain("plugins.entries.notebook.hooks.allowConversationAccess true");
    await ask(home, "hello");
    expect(world.model.calls[0]!.system).not.toContain("The notebook lies open.");
    await home.run(["config", "set", "plugins.entries.notebook.hooks.allowConversationAccess", "true"]);
    await until(async () => {
      const record = (await recordsOf(gateway)).get("notebook");
      return record?.state === "loaded" && record["refusedHooks"] === undefined;
    });
    await ask(home, "hello again");
    expect(world.model.calls[1]!.system).toContain("The notebook lies open.");
    await home.run(["config", "set", "plugins.entries.notebook.hooks.allowPromptInjection", "false"]);
    await gateway.logged(
      (line) => line["msg"] === "config applied" && String(line["keys"]).includes("allowPromptInjection"),
    );
    await ask(home, "and again");
    expect(world.model.calls[2]!.system).not.toContain("The notebook lies open.");
  });

  test("delays no turn for longer than its hooks' time limits", async ({ world, expect }) => {
    const slow = (id: string): PluginFiles => ({
      id,
      code: `export default (api) => api.on("before_prompt_build", () => new Promise(() => undefined));`,
    });
    const entries = {
      late: { enabled: true, hooks: { allowConversationAccess: true, timeoutMs: 51 } },
      later: { enabled: true, hooks: { allowConversationAccess: true, timeouts: { before_prompt_build: 52 } } },
    };
    const { home, gateway } = await startWith(world, [slow("late"), slow("later")], { entries });
    expect(await ask(home, "hello")).toContain("echo: hello");
    const limits = gateway.lines
      .filter((line) => line["msg"] === "hook is late")
      .map((line) => [line["owner"], line["ms"]]);
    expect(limits).toEqual([
      ["late", 51],
      ["later", 52],
    ]);
  });

  test("calls the agent's model, and another one only where the config allows it", async ({ world, expect }) => {
    const asking: PluginFiles = {
      id: "asker",
      code: `export default (api) => api.registerCommand({ name: "ask", handler: async ({ args }) => {
        const model = args || undefined;
        try {
          const { text } = await api.runtime.llm.complete({ messages: [{ role: "user", content: "short" }], ...(model && { model }) });
          return { text: "model said " + text };
        } catch (error) { return { text: error.message }; }
      } });`,
    };
    const { home } = await startWith(world, [asking]);
    world.model.answer(() => ({ text: "four" }));
    expect(await ask(home, "/ask")).toContain("model said four");
    await until(async () => /Of plugins +asker 1 calls, \d+ tokens in, \d+ out, \$/.test(await output(home, "status")));
    const listedRuns = JSON.parse(await output(home, "runs", "list", "--json"));
    const [{ runId, receipt }] = listedRuns.runs.filter((one: { runId: string }) =>
      one.runId.startsWith("plugin-asker-"),
    );
    expect(receipt).toMatchObject({
      trigger: "plugin",
      calls: 1,
      beside: [{ what: "plugin", plugin: "asker", calls: 1 }],
    });
    expect(await output(home, "runs", "show", runId)).toContain("plugin (asker)");
    expect(await ask(home, "/ask fake/other")).toContain("Plugin LLM completion cannot override the target model");
    const set = (key: string, value: string) => home.run(["config", "set", `plugins.entries.asker.llm.${key}`, value]);
    await set("allowedModels", '["fake/fake-1"]');
    await set("allowModelOverride", "true");
    // While the plugin is loaded again, the command is a message like any other.
    const refused = 'Plugin LLM completion model override "fake/other" is not allowlisted';
    await until(async () => (await ask(home, "/ask fake/other")).includes(refused));
  });
});

test("the skills of a plugin are the agent's while it is loaded", async ({ world, expect }) => {
  const code = "export default () => {};";
  const home = await world.home(world.config({ ...NO_CHANNELS, plugins: { entries: { cook: { enabled: true } } } }));
  const dir = join(home.stateDir, "extensions");
  const root = writePlugin(dir, {
    id: "cook",
    code,
    manifest: { skills: ["skills/soup", "./skills/more", "skills/none"] },
  });
  writePlugin(dir, { id: "thief", code, manifest: { skills: ["../cook"] } });
  for (const path of ["soup", "more/stew"]) {
    mkdirSync(join(root, "skills", path), { recursive: true });
    const text = `---\nname: ${basename(path)}\ndescription: How to cook ${path}.\n---\nBoil it.\n`;
    writeFileSync(join(root, "skills", path, "SKILL.md"), text);
  }
  const gateway = await home.start();
  world.model.answer(({ isAfterTool, toolText }) =>
    isAfterTool
      ? { text: `it says ${toolText}` }
      : { tool: "read", args: { path: join(root, "skills/soup/SKILL.md") } },
  );
  expect(await ask(home, "hello")).toContain("Boil it.");
  const system = () => world.model.calls.at(-1)!.system;
  expect(system()).toContain("How to cook soup.");
  expect(system()).toContain("How to cook more/stew.");
  expect((await recordsOf(gateway)).get("thief")?.why).toBe("its skill folder ../cook is outside its folder");
  await home.run(["config", "set", "plugins.entries.cook.enabled", "false"]);
  await gateway.logged("plugin unloaded");
  await ask(home, "hello again");
  expect(system()).not.toContain("How to cook");
});

test("a plugin reads its variables, its key and the facts of a command; others see the values masked", async ({
  world,
  expect,
}) => {
  const plugin: PluginFiles = {
    id: "facts",
    code: `const early = process.env.FACTS_LEVEL?.length;
      const told = (api) => {
        const { apiKey, env, config } = api.config.plugins.entries.facts;
        const all = [apiKey, env.FACTS_LEVEL, config.token, api.pluginConfig.weird, config.url];
        api.logger.info("told " + all.join(" "), { all, base64: all.map((one) => Buffer.from(one).toString("base64")) });
        api.runtime.logging.getChildLogger({ apiKey }).error(new Error("failed with " + apiKey), apiKey);
        Promise.reject(new Error("rejected with " + config.token));
      };
      export default (api) => api.registerCommand({ name: "facts", acceptsArgs: true, handler: (asked) => (told(api), { text: JSON.stringify({
        early, home: process.env.HOME === "/nowhere", key: api.config.plugins.entries.facts.apiKey.length,
        args: asked.args, sessionId: asked.sessionId, sessionKey: asked.sessionKey, agentId: asked.agentId,
        config: typeof asked.config.plugins, llm: typeof asked.runtimeContext.llm.complete }) }) });`,
  };
  const entry = {
    enabled: true,
    env: { FACTS_LEVEL: "hidden-level-7", HOME: "/nowhere" },
    apiKey: "hidden-key-12345",
    config: { token: "hidden words", weird: "hiddenMadeBy4Machine", url: "postgres://me:hidden-word@db/x" },
    subagent: { allowModelOverride: true, allowedModels: ["fake/other"] },
  };
  const { home, gateway } = await startWith(world, [plugin], { entries: { facts: entry } });
  await ask(home, "hello");
  const [answer = ""] = /\{.*\}/.exec(await ask(home, "/facts of life")) ?? [];
  expect(JSON.parse(answer)).toEqual({
    early: 14,
    home: false,
    key: 16,
    args: "of life",
    sessionId: expect.stringMatching(/^[\w-]+$/),
    sessionKey: expect.any(String),
    agentId: "main",
    config: "object",
    llm: "function",
  });
  await gateway.logged((line) => line["plugin"] === "facts" && String(line["error"]).startsWith("rejected with"));
  await until(() => logOf(home).includes("rejected with"), "the line in the log file");
  const logged = logOf(home);
  expect(logged).toContain("told [secret] [secret] [secret] [secret] postgres");
  expect(logged).not.toMatch(/hidden|aGlkZGVu/);
  const shown = await output(home, "config", "get", "plugins.entries.facts");
  expect(shown).toContain("FACTS_LEVEL");
  expect(shown).not.toMatch(/hidden-/);
  expect(await output(home, "plugins", "inspect", "facts")).toMatch(
    /granted +subagentModelOverride\nvariables +FACTS_LEVEL, HOME/,
  );
});

test("the model calls of a plugin's engine are the plugin's in the receipt of the turn", async ({ world, expect }) => {
  const engine: PluginFiles = {
    id: "thinker",
    manifest: { kind: "context-engine" },
    code: `export default (api) => api.registerContextEngine("thinker", () => ({
      info: { id: "thinker", name: "Thinker" },
      ingest: async () => ({ ingested: true }),
      assemble: async ({ messages, prompt, runtimeContext }) => {
        if (prompt) await runtimeContext.llm.complete({ messages: [{ role: "user", content: "sum up" }] });
        return { messages, estimatedTokens: 10 };
      },
      compact: async () => ({ ok: true, compacted: false }),
    }));`,
  };
  const { home } = await startWith(world, [engine], { slots: { contextEngine: "thinker" } });
  await ask(home, "hello");
  const [run] = JSON.parse(await output(home, "runs", "list", "--json")).runs;
  expect(run.receipt.beside).toMatchObject([{ what: "engine", plugin: "thinker", calls: 1 }]);
  expect(await output(home, "status")).toMatch(/Of plugins +thinker 1 calls/);
});

/** What each plugin of strangers does wrong, and what the gateway says of it. */
const BROKEN: readonly (PluginFiles & { readonly why: string })[] = [
  {
    id: "throws",
    code: `export default () => { throw new Error("no licence"); };`,
    why: "its register failed: no licence",
  },
  {
    id: "rejects",
    code: `export default async () => { throw new Error("no network"); };`,
    why: "its register failed: no network",
  },
  {
    id: "exports-nothing",
    code: `export const register = 7;`,
    why: "index.js exports neither a function nor an object with register",
  },
  {
    id: "no-module",
    code: `import "openclaw/plugin-sdk/time-travel"; export default () => {};`,
    why: 'it imports "openclaw/plugin-sdk/time-travel", which this gateway does not have',
  },
  {
    id: "no-export",
    code: `import { warp } from "openclaw/plugin-sdk/core"; export default () => warp();`,
    why: 'it imports "warp" from "openclaw/plugin-sdk/core", which has no such export',
  },
  {
    id: "no-dependency",
    code: `import "left-pad-of-nobody"; export default () => {};`,
    why: 'it imports "left-pad-of-nobody", which is not installed beside it',
  },
  {
    id: "no-name",
    code: `import { hidden } from "./old.cjs"; export default () => hidden();`,
    files: { "old.cjs": `const all = {}; all["hid" + "den"] = () => 1; module.exports = all;` },
    why: 'it imports "hidden" by name from "./old.cjs", a CommonJS module from which Node offers no such name',
  },
  { id: "syntax", code: `export default () => {`, why: "its code cannot be loaded" },
  {
    id: "takes-method",
    code: `export default (api) => api.registerAgentHarness({});`,
    why: "this gateway does not have api.registerAgentHarness",
  },
  {
    id: "settings",
    code: `export default () => {};`,
    manifest: { configSchema: { type: "object", required: ["key"], properties: { key: { type: "string" } } } },
    why: "its settings are wrong: plugins.entries.settings.config.key",
  },
];

test("a memory's section is in the system prompt of the built-in engine; one that fails costs no turn", async ({
  world,
  expect,
}) => {
  const memory: PluginFiles = {
    id: "diary",
    code: `let calls = 0;
    export default (api) => api.registerMemoryPromptSupplement(({ availableTools }) => {
      if (++calls > 1) throw new Error("diary is closed");
      return ["Memory: Ann likes tea." + (availableTools.has("read") ? " Read more in diary.md." : "")];
    });`,
  };
  const { home } = await startWith(world, [memory]);
  expect(await ask(home, "hello")).toContain("echo: hello");
  expect(world.model.calls.at(-1)?.system).toContain("Memory: Ann likes tea. Read more in diary.md.");
  expect(await ask(home, "once more")).toContain("echo: once more");
  expect(world.model.calls.at(-1)?.system).not.toContain("Ann likes tea");
});

test("a plugin is loaded without the tools and commands that the gateway does not take, and doctor names them", async ({
  world,
  expect,
}) => {
  const odd: PluginFiles = {
    id: "odd",
    manifest: { contracts: { tools: ["declared"] } },
    code: `export default (api) => {
      for (const name of ["secret_tool", "declared"]) api.registerTool({ name, description: "x", execute() {} });
      for (const name of ["stop", "odd:status", "odd"]) api.registerCommand({ name, handler: () => ({ text: "I am odd." }) });
    };`,
  };
  const { home, gateway } = await startWith(world, [odd]);
  expect((await recordsOf(gateway)).get("odd")).toMatchObject({
    state: "loaded",
    added: { tools: ["declared"], commands: ["odd"] },
    refusedParts: [
      'the tool "secret_tool": contracts.tools of its openclaw.plugin.json does not list it',
      expect.stringContaining(`the command "stop": "stop" is a name of the gateway's own commands`),
      expect.stringContaining('the command "odd:status": a command\'s name has letters'),
    ],
  });
  expect(await ask(home, "/odd")).toContain("I am odd.");
  expect((await home.run(["plugins", "doctor"])).stdout).toContain("does not take some of what it registers");
});

test("plugins that cannot be loaded are named with the reason, and harm nothing else", async ({ world, expect }) => {
  const { home, gateway } = await startWith(world, [...BROKEN, NOTEBOOK]);
  const records = await recordsOf(gateway);
  for (const { id, why } of BROKEN) {
    expect([id, records.get(id)?.state]).toEqual([id, "failed"]);
    expect(records.get(id)?.why).toContain(why);
  }
  expect(records.get("notebook")?.state).toBe("loaded");
  const wrong = gateway.lines.find((line) => line["msg"] === "plugin is left out" && line["plugin"] === "settings");
  expect(wrong?.["fix"]).toBe(
    "Correct plugins.entries.settings.config.key: openclaw config set plugins.entries.settings.config.key <value>",
  );
  expect(await ask(home, "/notes milk")).toContain("notes about milk");
  expect(await ask(home, "hello")).toContain("echo: hello");
  const { stdout } = await home.run(["plugins", "doctor"]);
  expect(stdout).toContain("fail: throws: It is not loaded: its register failed: no licence.");
  const list = (await home.run(["plugins", "list"])).stdout;
  expect(list).toMatch(/throws .* broken +its register failed: no licence/);
  expect(list).toMatch(/notebook .* enabled/);
});
