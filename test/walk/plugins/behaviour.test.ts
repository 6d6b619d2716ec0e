import { setTimeout } from "node:timers/promises";
import { join } from "node:path";
import { writePlugin } from "../../kit/gateway/plugins.ts";
import { call } from "../../kit/gateway/rpc.ts";
import { test } from "../../kit/gateway/world.ts";
import { until } from "../../kit/until.ts";

test("a plugin that blocks the gateway from its own timer is named, and ends with its plugin", async ({
  world,
  expect,
}) => {
  const plugins = { entries: { busy: { enabled: true } } };
  const home = await world.home(world.config({ channels: { telegram: { enabled: false } }, plugins }));
  writePlugin(join(home.stateDir, "extensions"), {
    id: "busy",
    code: `export default (api) => {
      setInterval(() => { const end = performance.now() + 150; while (performance.now() < end); }, 1000);
      setTimeout(() => { throw new Error("thrown in a timer"); }, 10);
    };`,
  });
  const gateway = await home.start();
  expect(await gateway.logged("a plugin blocked the gateway")).toMatchObject({ plugin: "busy", call: "interval" });
  expect(await gateway.logged("plugin failed")).toMatchObject({ plugin: "busy", call: "timeout" });
  expect((await home.run(["status"])).stdout).toMatch(
    /1 loaded; busy blocked the gateway .*, (?:up to|for) \d+ ms \(interval\)/,
  );
  expect((await home.run(["plugins", "inspect", "busy", "--runtime"])).stdout).toMatch(
    /longest call +interval, \d+ ms/,
  );
  await home.run(["plugins", "disable", "busy"]);
  expect(await gateway.logged("intervals that a plugin left are ended")).toMatchObject({
    plugin: "busy",
    intervals: 1,
  });
  expect((await home.run(["agent", "--message", "hello"])).stdout).toContain("echo: hello");
});

test("a plugin whose hook, tool, command, method and route keep the event loop is named with each of them", async ({
  world,
  expect,
}) => {
  const entries = { slow: { enabled: true, hooks: { allowConversationAccess: true } } };
  const home = await world.home(world.config({ plugins: { entries } }));
  writePlugin(join(home.stateDir, "extensions"), {
    id: "slow",
    manifest: { contracts: { tools: ["dig"] } },
    code: `const block = (ms) => { const end = performance.now() + ms; while (performance.now() < end); };
      export default (api) => {
        api.on("message_received", () => block(310));
        api.registerTool({ name: "dig", description: "Digs.", parameters: { type: "object" }, execute: () => (block(320), "found") });
        api.registerCommand({ name: "slow", description: "Waits.", handler: () => (block(330), { text: "waited" }) });
        api.registerGatewayMethod("slow.count", ({ respond }) => (block(340), respond(true, {})), { scope: "operator.read" });
        api.registerHttpRoute({ path: "/slow", auth: "plugin", match: "exact", handler: (_request, response) => (block(1000), response.end("ok")) });
      };`,
  });
  const gateway = await home.start();
  world.model.answer((asked) => (asked.isAfterTool ? { text: "it is found" } : { tool: "dig", args: {} }));
  const begun = Date.now();
  world.telegram.say("dig it out");
  await world.told("it is found");
  world.telegram.say("/slow");
  await world.told("waited");
  await call(gateway, "slow.count");
  await (await fetch(`http://127.0.0.1:${gateway.port}/slow`)).text();
  const least = {
    "hook message_received": 310,
    "tool dig": 320,
    "command /slow": 330,
    "method slow.count": 340,
    "route /slow": 1000,
  };
  const logged = (what: string) =>
    gateway.lines.find((line) => line["msg"] === "a plugin blocked the gateway" && line["call"] === what);
  for (const [what, ms] of Object.entries(least)) {
    await until(() => logged(what) !== undefined);
    expect(logged(what)).toMatchObject({ level: "warn", plugin: "slow" });
    expect(logged(what)?.["ms"]).toBeGreaterThanOrEqual(ms);
  }
  const { stdout } = await home.run(["status"]);
  const said =
    /slow blocked the gateway \d+ times, up to (\d+) ms \(route \/slow\), last at (\S+) for \d+ ms \(route \/slow\)/.exec(
      stdout.replaceAll(/\s+/g, " "),
    );
  expect(Number(said?.[1])).toBeGreaterThanOrEqual(1000);
  expect(Date.parse(said?.[2] ?? "")).toBeGreaterThanOrEqual(begun);
  expect((await home.run(["plugins", "inspect", "slow", "--runtime"])).stdout).toMatch(
    /latest long call +route \/slow, \d+ ms, at \d{4}-/,
  );
});

test("a plugin that imports what is missing only in a turn is named at its load", async ({ world, expect }) => {
  const plugins = { entries: { later: { enabled: true } } };
  const home = await world.home(world.config({ channels: { telegram: { enabled: false } }, plugins }));
  writePlugin(join(home.stateDir, "extensions"), {
    id: "later",
    code: `export default (api) => api.registerCommand({ name: "warp", description: "Warps.", handler: async () => {
      const { warp } = await import("openclaw/plugin-sdk/time-travel");
      return { text: warp() };
    } });`,
  });
  const gateway = await home.start();
  const missing = "openclaw/plugin-sdk/time-travel (index.js)";
  const told = await gateway.logged("plugin uses parts of the SDK that this gateway does not have");
  expect(told).toMatchObject({
    plugin: "later",
    missing: [missing],
    fix: expect.stringContaining("plugins update later"),
  });
  for (const command of [["inspect", "later"], ["inspect", "later", "--runtime"], ["doctor"]])
    expect((await home.run(["plugins", ...command])).stdout).toContain(missing);
  await home.run(["agent", "--message", "/warp"]);
  const failed = gateway.lines.find((line) =>
    JSON.stringify(line).includes("this gateway has no openclaw/plugin-sdk/time-travel, which file:"),
  );
  expect(failed).toBeDefined();
});

test("a pattern of a plugin's tool that takes for ever on the model's arguments is an error for the model", async ({
  world,
  expect,
}) => {
  const plugins = { entries: { finder: { enabled: true } } };
  const home = await world.home(world.config({ channels: { telegram: { enabled: false } }, plugins }));
  const parameters = { type: "object", properties: { name: { type: "string", pattern: "^(a+)+$" } } };
  writePlugin(join(home.stateDir, "extensions"), {
    id: "finder",
    manifest: { contracts: { tools: ["name_find"] } },
    code: `const parameters = ${JSON.stringify(parameters)};
      const execute = (id, { name }) => "found " + name;
      // Another library checks the arguments too, and knows more keywords.
      const more = { not: { required: ["nobody"] } };
      const tool = { name: "name_find", description: "Finds.", parameters: { ...parameters, ...more }, execute };
      export default (api) => api.registerTool(tool, { name: tool.name });`,
  });
  await home.start();
  const args = (said: string) => ({ name: said === "good" ? "aaa" : `${"a".repeat(60)}!` });
  world.model.answer((asked) =>
    asked.isAfterTool ? { text: `done: ${asked.toolText}` } : { tool: "name_find", args: args(asked.said) },
  );
  expect((await home.run(["agent", "--message", "good"])).stdout).toContain("done: found aaa");
  expect((await home.run(["agent", "--message", "bad"])).stdout).toContain(
    "done: The arguments for name_find do not fit. name takes too long to check with the pattern ^(a+)+$ of its schema.",
  );
});

test("what never answers of a plugin holds no caller, an answer that has begun is not cut, and writing too late ends nothing", async ({
  world,
  expect,
}) => {
  const plugins = { answerTimeoutSeconds: 1, entries: { silent: { enabled: true } } };
  const home = await world.home(world.config({ channels: { telegram: { enabled: false } }, plugins }));
  writePlugin(join(home.stateDir, "extensions"), {
    id: "silent",
    code: `import { spawn } from "node:child_process";
    export default (api) => {
      const never = () => new Promise(() => {});
      const route = (path, handler) => api.registerHttpRoute({ path, auth: "plugin", match: "exact", handler });
      route("/never", never);
      route("/forgets", () => {});
      route("/late", (request, response) => { setTimeout(() => { response.write("too late"); response.end("end"); response.write("x"); }, 1500); });
      const inEvent = (run, ms) => spawn("sleep", [String(ms / 1000)]).on("exit", run);
      route("/late-event", (request, response) => void inEvent(() => { response.setHeader("x-late", "1"); response.removeHeader("x-late"); response.writeHead(200, { "x-late": "1" }).end("late"); }, 1500));
      route("/throws", (request, response) => { inEvent(() => response.writeHead(200).end("late"), 100); throw new Error("broken"); });
      route("/again", (request, response) => { response.end("done"); response.write("more"); });
      route("/slow", (request, response) => { response.write("begun, "); setTimeout(() => response.end("done"), 1500); });
      route("/upload", async (request, response) => { let size = 0; for await (const part of request) size += part.length; response.end(String(size)); });
      api.registerGatewayMethod("silent.never", never);
      api.registerGatewayMethod("silent.returns", () => {});
      api.session.controls.registerSessionAction({ id: "never", handler: never });
    };`,
  });
  const gateway = await home.start();
  const page = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`http://127.0.0.1:${gateway.port}${path}`, init);
    return [response.status, await response.text()];
  };
  // Its parts come in for longer than the limit.
  const parts = async function* () {
    for (let part = 0; part < 5; part++) {
      yield Buffer.from("part");
      await setTimeout(400);
    }
  };
  const body = ReadableStream.from(parts());
  const late = [504, "The plugin silent did not answer within 1 s.\n"];
  const answers = await Promise.all([
    ...["/never", "/forgets", "/late", "/late-event", "/throws", "/again", "/slow"].map((path) => page(path)),
    page("/upload", { method: "POST", body, duplex: "half" }),
  ]);
  expect(answers).toEqual([late, late, late, late, [500, ""], [200, "done"], [200, "begun, done"], [200, "20"]]);
  const action = { pluginId: "silent", actionId: "never", payload: {} };
  for (const [method, params] of [["silent.never"], ["silent.returns"], ["plugins.sessionAction", action]] as const)
    await expect(call(gateway, method, params)).rejects.toThrow(/of the plugin silent did not answer within 1 s/);
  const told = gateway.lines.filter(({ msg, plugin }) => msg === "plugin is late" && plugin === "silent");
  expect(told.map((line) => line["call"]).slice(4)).toEqual([
    "method silent.never",
    "method silent.returns",
    "session action never",
  ]);
  await gateway.logged("route of a plugin wrote too late");
  expect((await home.run(["agent", "--message", "hello"])).stdout).toContain("echo: hello");
});
