import { join } from "node:path";
import { writePlugin } from "../../kit/gateway/plugins.ts";
import { test, type Config, type World } from "../../kit/gateway/world.ts";
import { until } from "../../kit/until.ts";

/** A tool that has a subagent look for an answer, as plugins of the field do. */
const ASKER = `
import { randomUUID } from "node:crypto";
export default (api) => {
  const { subagent } = api.runtime;
  const ask = async (input, more = {}) => {
    const sessionKey = "agent:main:subagent:" + (input.name || randomUUID());
    try {
      const { runId } = await subagent.run({
        sessionKey, message: input.question, extraSystemPrompt: "You are asked by a plugin.", lane: "subagent",
        deliver: false, idempotencyKey: input.name || randomUUID(), ...more });
      const ended = await subagent.waitForRun({ runId, timeoutMs: 30000 });
      const { messages } = await subagent.getSessionMessages({ sessionKey, limit: 10 });
      const last = messages.filter(({ role }) => role === "assistant").at(-1);
      const text = (last?.content ?? []).map((part) => part.text ?? "").join("");
      if (!input.keep) await subagent.deleteSession({ sessionKey, deleteTranscript: true });
      return ended.status + ": " + text;
    } catch (error) {
      return "refused: " + error.message;
    }
  };
  api.registerTool({
    name: "ask_below", description: "Asks a subagent.",
    parameters: { type: "object", properties: { question: { type: "string" } }, required: ["question"] },
    execute: async (_id, input) => ({ content: [{ type: "text", text: await ask(input) }] }),
  });
  api.registerCommand({ name: "below", acceptsArgs: true, description: "Asks a subagent.",
    handler: async ({ args }) => {
      const [name, question, provider, model] = args.split(" ");
      return { text: await ask({ name, question, keep: true }, provider ? { provider, model } : {}) };
    } });
};`;

const CONFIG = {
  agents: { defaults: { maxConcurrent: 1, subagents: { maxConcurrent: 1 } } },
  plugins: { entries: { asker: { enabled: true } } },
};

async function homeWith(world: World, more: Config = {}) {
  const home = await world.home(world.config({ ...CONFIG, channels: { telegram: { enabled: false } }, ...more }));
  const manifest = { contracts: { tools: ["ask_below"] } };
  writePlugin(join(home.stateDir, "extensions"), { id: "asker", code: ASKER, manifest });
  return home;
}

test("a plugin's tool waits for its subagent with one slot for runs, which can ask another one only where the config allows it", async ({
  world,
  expect,
}) => {
  const home = await homeWith(world);
  await home.start();
  world.model.answer((call) => {
    if (call.said.includes("below the first")) return { text: "the deepest" };
    if (call.said.includes("look it up"))
      return call.isAfterTool
        ? { text: `found 42; ${call.toolText}` }
        : { tool: "ask_below", args: { question: "below the first" } };
    return call.isAfterTool
      ? { text: `the tool says ${call.toolText}` }
      : { tool: "ask_below", args: { question: "look it up" } };
  });
  const { stdout } = await home.run(["agent", "--message", "what is it?"]);
  expect(stdout).toContain("the tool says ok: found 42");
  expect(stdout).toContain("maxSpawnDepth is 1");
  const systems = world.model.calls.filter(({ said }) => said.includes("look it up")).map(({ system }) => system);
  expect(systems.every((system) => system.includes("You are asked by a plugin."))).toBe(true);
  const headings = systems.map((system) => system.split("# Project Context")[0]?.match(/^## .*$/gm));
  expect(headings).toEqual(systems.map(() => ["## Tooling", "## Workspace", "## Runtime"]));
  // Its session is archived, its cost the plugin's.
  expect((await home.run(["sessions", "list"])).stdout).not.toContain("subagent");
  await until(async () => /asker/.test((await home.run(["status"])).stdout));
  expect((await home.run(["runs", "list"])).stdout).toContain("subagent");
  await home.run(["config", "set", "agents.defaults.subagents.maxSpawnDepth", "2"]);
  await until(async () => {
    const { stdout: again } = await home.run(["agent", "--message", "and now?"]);
    return again.includes("found 42; ok: the deepest");
  });
});

test("a subagent has of its agent's tools what the config leaves it", async ({ world, expect }) => {
  const toolsOf = () => world.model.calls.at(-1)?.tools.map(({ function: { name } }) => name) ?? [];
  for (const [tools, has] of [
    [{}, { read: true, write: true, exec: true, ask_below: true }],
    [{ deny: ["group:runtime", "ask_below"] }, { read: true, write: true, exec: false, ask_below: false }],
    [
      { allow: ["read"], alsoAllow: ["ask_below"] },
      { read: true, write: false, exec: false, ask_below: true },
    ],
  ] as const) {
    const home = await homeWith(world, { tools: { subagents: { tools } } });
    const gateway = await home.start();
    expect((await home.run(["agent", "--message", "/below tools look"])).stdout).toContain("ok: ");
    const named = toolsOf();
    expect(Object.fromEntries(Object.keys(has).map((name) => [name, named.includes(name)]))).toEqual(has);
    await home.run(["agent", "--message", "and your own?"]);
    expect(toolsOf()).toEqual(expect.arrayContaining(["read", "write", "exec", "ask_below"]));
    await gateway.kill();
  }
});

test("another model needs the grant of the config", async ({ world, expect }) => {
  const home = await homeWith(world);
  await home.start();
  const ask = async (name: string) =>
    (await home.run(["agent", "--message", `/below ${name} hello fake other`])).stdout;
  expect(await ask("a")).toContain(
    "Plugin subagent run cannot override the target model: provider/model overrides are not authorized: set plugins.entries.asker.subagent.allowModelOverride",
  );
  await home.run(["config", "set", "plugins.entries.asker.subagent.allowModelOverride", "true"]);
  await home.run(["config", "set", "plugins.entries.asker.subagent.allowedModels", '["fake/third"]']);
  await until(async () =>
    (await ask("b")).includes('model override "fake/other" is not allowlisted for plugin "asker"'),
  );
  await home.run(["config", "set", "plugins.entries.asker.subagent.allowedModels", '["fake/other"]']);
  await until(async () => (await ask("c")).includes("ok: "));
  expect(world.model.calls.at(-1)?.model).toBe("other");
});

test("a subagent's run survives kill -9, is done once, and its plugin finds it by the same request", async ({
  world,
  expect,
}) => {
  const home = await homeWith(world);
  const first = await home.start();
  world.model.answer(() => "hang");
  const left = home.run(["agent", "--message", "/below again hello"]);
  await world.model.called(1);
  await first.kill("SIGKILL");
  await left;
  world.model.answer(({ said }) => ({ text: `answered ${said.includes("hello")}` }));
  await home.start();
  await until(async () => (await home.run(["inbox", "list", "--all"])).stdout.includes("replied"));
  expect((await home.run(["agent", "--message", "/below again hello"])).stdout).toContain("ok: answered true");
  expect(world.model.calls.length).toBe(2);
});

test("hooks that ask for a subagent are not called for it without an end, and nobody wrote its message", async ({
  world,
  expect,
}) => {
  const entry = { enabled: true, hooks: { allowConversationAccess: true } };
  const home = await world.home(
    world.config({ channels: { telegram: { enabled: false } }, plugins: { entries: { again: entry } } }),
  );
  const code = `import { randomUUID } from "node:crypto";
    export default (api) => {
      for (const name of ["agent_end", "message_received"]) api.on(name, async () => {
        const sessionKey = "agent:main:subagent:" + randomUUID();
        const asked = api.runtime.subagent.run({ sessionKey, message: "go on" });
        api.logger.info(name + ": " + (await asked.then(() => "begun", (error) => error.message)));
      });
    };`;
  writePlugin(join(home.stateDir, "extensions"), { id: "again", code });
  const gateway = await home.start();
  await home.run(["agent", "--message", "hello"]);
  const said = () =>
    gateway.lines.map((line) => JSON.stringify(line)).filter((line) => /agent_end|message_rec/.test(line));
  await until(() => said().length === 4);
  // The turn and its message ask for one each; of the ends of those two, neither asks for more.
  expect(said().filter((line) => line.includes("begun")).length).toBe(2);
  expect(said().filter((line) => line.includes("agent_end: a subagent may not be 2 deep")).length).toBe(2);
  expect(world.model.calls.length).toBe(3);
});

test("a plugin follows its subagent by callbacks, and ends it by a signal", async ({ world, expect }) => {
  const entry = { enabled: true };
  const home = await world.home(
    world.config({ channels: { telegram: { enabled: false } }, plugins: { entries: { follower: entry } } }),
  );
  const code = `export default (api) => {
      const { subagent } = api.runtime;
      const begin = (message, replyOptions) =>
        subagent.run({ sessionKey: "agent:main:subagent:" + message, message, replyOptions });
      api.registerCommand({ name: "follow", description: "Follows.", handler: async () => {
        const said = [];
        await new Promise((resolve) => begin("count", {
          onAgentRunStart: () => { said.push("start"); },
          onToolResult: () => { said.push("tool"); },
          onBlockReply: ({ text }) => { said.push(text); },
          onAgentEvent: ({ stream, data }) => { if (stream === "lifecycle" && data.phase === "end") resolve(); },
        }));
        return { text: said.join(" ") };
      } });
      const abort = new AbortController();
      api.registerCommand({ name: "hang", description: "Hangs.", handler: async () => {
        const { runId } = await begin("hang", { abortSignal: abort.signal, onModelSelected: () => abort.abort() });
        return { text: (await subagent.waitForRun({ runId })).status };
      } });
    };`;
  writePlugin(join(home.stateDir, "extensions"), { id: "follower", code });
  await home.start();
  world.model.answer(({ said, isAfterTool }) => {
    if (said.includes("hang")) return "hang";
    return isAfterTool ? { text: "counted" } : { tool: "ls", args: {} };
  });
  expect((await home.run(["agent", "--message", "/follow"])).stdout).toContain("start tool counted");
  expect((await home.run(["agent", "--message", "/hang"])).stdout).toContain("error");
});
