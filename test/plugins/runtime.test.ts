import { createServer } from "node:http";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { openTestPlugin } from "../../src/api/testing.ts";
import { testPorts } from "../../testing/plugin-ports.ts";
import { Contributions } from "../../src/plugins/contributions.ts";
import { Plugins } from "../../src/plugins/host/plugins.ts";
import { readPlugin } from "../../src/plugins/manifest/read-plugin.ts";
import type { PluginPorts } from "../../src/plugins/ports.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import { writePlugin } from "../kit/gateway/plugins.ts";
import { message } from "../kit/inbound.ts";
import { PNG } from "../kit/pictures.ts";
import { folder } from "../kit/plugins/sources.ts";

interface Runtime {
  readonly runtime: Record<string, Record<string, (...args: readonly unknown[]) => unknown>>;
  readonly ports: PluginPorts;
  readonly plugins: Plugins;
  readonly contributions: Contributions;
}

let open: Plugins | undefined;
afterEach(() => open?.close());

/** Its command begins a loop at the first call, which continues after it, as the queue of a plugin does. */
const CODE = `export default (api) => {
  globalThis.givenApi = api;
  const ask = (message) => api.runtime.subagent.run({ sessionKey: "agent:main:subagent:1", message });
  api.registerCommand({ name: "begin", description: "Begins.", handler: async () => {
    await ask("in the call");
    globalThis.looped = new Promise((resolve) => setTimeout(() => setTimeout(() => resolve(ask("in the loop")), 10), 0));
    return { text: "begun" };
  } });
};`;

/** `api.runtime` as a plugin gets it. */
async function runtimeOf(over: Partial<PluginPorts> = {}): Promise<Runtime> {
  const dir = folder();
  const root = writePlugin(dir, { id: "asks", code: CODE });
  const found = await readPlugin(root, "config");
  if (found.kind !== "found") throw new Error(found.kind);
  const ports = { ...testPorts({ id: "asks", folder: dir, config: {} }), ...over };
  const contributions = new Contributions([]);
  open = new Plugins(contributions, ports);
  await open.apply({ plugins: [found.plugin], broken: [] });
  const { givenApi } = globalThis as unknown as { givenApi: Pick<Runtime, "runtime"> };
  return { runtime: givenApi.runtime, ports, plugins: open, contributions };
}

describe("the runtime of a plugin", () => {
  test("runs programs without a shell, and ends them in time", async () => {
    const { runtime, plugins } = await runtimeOf();
    const run = (script: string, options: object = { timeoutMs: 20_000 }) =>
      runtime["system"]?.["runCommandWithTimeout"]?.([process.execPath, "-e", script], options);
    expect(
      await run(`process.stdin.on("data", (d) => console.log("read " + d)); console.error("*");`, {
        timeoutMs: 20_000,
        input: "$HOME",
      }),
    ).toMatchObject({
      stdout: "read $HOME\n",
      stderr: "*\n",
      code: 0,
      killed: false,
      termination: "exit",
    });
    expect(
      await run(`console.log("x".repeat(100)); process.exit(3)`, { timeoutMs: 20_000, maxOutputBytes: 5 }),
    ).toMatchObject({ stdout: "xxxxx", code: 3 });
    const forever = `setInterval(() => {}, 1000)`;
    expect(await run(forever, { timeoutMs: 100 })).toMatchObject({ termination: "timeout", killed: true, code: null });
    const left = run(forever);
    await plugins.unload("asks");
    expect(await left).toMatchObject({ termination: "signal" });
    await expect(runtime["system"]?.["runCommandWithTimeout"]?.(["no-such-program"], 1000)).rejects.toThrow("ENOENT");
  });

  test("fetches and measures files, but nothing of the private network and no file outside", async () => {
    const { runtime, ports } = await runtimeOf();
    const media = runtime["media"] ?? {};
    writeFileSync(join(ports.workspace(), "photo"), PNG);
    expect(await media["loadWebMedia"]?.(join(ports.workspace(), "photo"))).toMatchObject({
      contentType: "image/png",
      kind: "image",
      fileName: "photo",
    });
    await expect(media["loadWebMedia"]?.(join(ports.workspace(), "photo"), { maxBytes: 3 })).rejects.toThrow(
      "the limit is 3",
    );
    await expect(media["loadWebMedia"]?.("/etc/hostname")).rejects.toThrow("in no folder");
    const server = createServer((_request, response) => response.end("secret")).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    await expect(media["loadWebMedia"]?.(`http://127.0.0.1:${port}/`)).rejects.toThrow();
    expect(await media["detectMime"]?.({ buffer: PNG })).toBe("image/png");
    expect(media["mediaKindFromMime"]?.("audio/ogg")).toBe("audio");
  });

  test("rejects by name what the gateway does not have, and notes it once", async () => {
    const { runtime, plugins } = await runtimeOf();
    for (const [space, name] of [
      ["stt", "transcribeAudioFile"],
      ["tts", "textToSpeech"],
      ["modelAuth", "resolveApiKeyForProvider"],
      ["config", "writeConfigFile"],
    ] as const)
      await expect(runtime[space]?.[name]?.({})).rejects.toThrow(
        `this gateway does not have api.runtime.${space}.${name}`,
      );
    await expect(runtime["stt"]?.["transcribeAudioFile"]?.({})).rejects.toThrow();
    expect(plugins.records[0]?.notServed).toEqual([
      "api.runtime.stt.transcribeAudioFile",
      "api.runtime.tts.textToSpeech",
      "api.runtime.modelAuth.resolveApiKeyForProvider",
      "api.runtime.config.writeConfigFile",
    ]);
  });

  test("asks for subagents in its own name, with a model as provider/model, and ends its waits when it is unloaded", async () => {
    const base = testPorts({ id: "asks", folder: folder(), config: {} });
    const requests: unknown[] = [];
    const subagents: PluginPorts["subagents"] = {
      ...base.subagents,
      async run(request, grant) {
        requests.push([request, grant]);
        return base.subagents.run(request, grant);
      },
      waitFor: ({ signal }) =>
        new Promise((resolve) =>
          signal.addEventListener("abort", () => resolve({ status: "error", error: "aborted" }), { once: true }),
        ),
    };
    const { runtime, plugins } = await runtimeOf({ subagents });
    const subagent = runtime["subagent"] ?? {};
    const given = { sessionKey: "agent:main:subagent:1", message: "look", lane: "subagent", deliver: false };
    for (const more of [
      {},
      { provider: "fake", model: "m" },
      { model: "fake/m" },
      { provider: "fake", model: "fake/m" },
    ])
      await subagent["run"]?.({ ...given, idempotencyKey: "k", extraSystemPrompt: "Hurry.", ...more });
    expect(requests).toEqual(
      [undefined, "fake/m", "fake/m", "fake/m"].map((model) => [
        {
          sessionKey: given.sessionKey,
          message: "look",
          systemPrompt: "Hurry.",
          model,
          idempotencyKey: "k",
          plugin: "asks",
          requester: undefined,
        },
        { allowModelOverride: false },
      ]),
    );
    await expect(subagent["run"]?.({ ...given, model: "m" })).rejects.toThrow("a model with its provider");
    await expect(subagent["run"]?.({ ...given, deliver: true })).rejects.toThrow("cannot deliver");
    await expect(subagent["run"]?.({ message: "look" })).rejects.toThrow('needs the text "sessionKey"');
    const waiting = subagent["waitForRun"]?.({ runId: "run-1", timeoutMs: 60_000 });
    await plugins.unload("asks");
    expect(await waiting).toEqual({ status: "error", error: "aborted" });
  });

  test("asks for subagents with an owner's rights only while an owner's call lasts", async () => {
    const base = testPorts({ id: "asks", folder: folder(), config: {} });
    const requests: unknown[] = [];
    const subagents: PluginPorts["subagents"] = {
      ...base.subagents,
      async run(request, grant) {
        requests.push([request.message, request.requester]);
        return base.subagents.run(request, grant);
      },
    };
    const { contributions } = await runtimeOf({ subagents });
    const session = sessionKey("main");
    const asked = { args: "", message: message({ text: "/begin" }), session, agentId: agentId("main") };
    await contributions.commands[0]?.run({ ...asked, isOwner: true });
    await Reflect.get(globalThis, "looped");
    expect(requests).toEqual([
      ["in the call", { sessionKey: session, isOwner: true }],
      ["in the loop", { sessionKey: session, isOwner: false }],
    ]);
  });

  test("reads its own subagents, and other conversations only with the right to", async () => {
    const base = testPorts({ id: "asks", folder: folder(), config: {} });
    const allowed = base.pluginsConfig();
    const { hooks, ...entry } = allowed.entries["asks"]!;
    const closed = { ...allowed, entries: { asks: { ...entry, hooks: { ...hooks, allowConversationAccess: false } } } };
    let config: typeof allowed = closed;
    const { runtime } = await runtimeOf({ pluginsConfig: () => config });
    const { run, getSessionMessages, getSession, deleteSession } = runtime["subagent"] ?? {};
    const sessionKey = "agent:main:subagent:1";
    await run?.({ sessionKey, message: "look" });
    const messages = [{ role: "user", content: "look" }, { role: "assistant" }];
    expect(await getSessionMessages?.({ sessionKey })).toMatchObject({ messages });
    expect(await getSession?.({ sessionKey, limit: 1 })).toMatchObject({ messages: messages.slice(1) });
    await expect(getSessionMessages?.({ sessionKey: "main" })).rejects.toThrow("allowConversationAccess");
    config = allowed;
    expect(await getSessionMessages?.({ sessionKey: "main" })).toEqual({ messages: [] });
    expect(await deleteSession?.({ sessionKey, deleteTranscript: true })).toEqual({ deleted: true });
  });

  test("follows no run without the right to read conversations", async () => {
    const base = testPorts({ id: "asks", folder: folder(), config: {} });
    let followed = 0;
    const events = { ...base.events, followRuns: () => void followed++ };
    const allowed = base.pluginsConfig();
    const closed = {
      ...allowed,
      entries: {
        asks: {
          ...allowed.entries["asks"]!,
          hooks: { ...allowed.entries["asks"]!.hooks, allowConversationAccess: false },
        },
      },
    };
    const { runtime, plugins } = await runtimeOf({ events, pluginsConfig: () => closed });
    expect(typeof runtime["events"]?.["onAgentEvent"]?.(() => undefined)).toBe("function");
    expect(followed).toBe(0);
    expect(plugins.records[0]?.refusedHooks).toEqual(["runtime.events.onAgentEvent"]);
  });
});

test("older and newer names of the API are there: those that work, and those that throw by name", async () => {
  const code = `export default (api) => {
    api.registerSessionAction({ id: "count", handler: () => ({}) });
    api.registerRuntimeLifecycle({ id: "x" });
    api.registerMemoryRuntime({});
    const failed = [
      () => api.registerSessionExtension({}),
      () => api.agent.events.emitAgentEvent({}),
      () => api.runContext.setRunContext({}),
    ].map((call) => { try { call(); return "none"; } catch (error) { return error.message; } });
    api.on("before_prompt_build", () => failed);
  };`;
  const plugin = await openTestPlugin({ root: writePlugin(folder(), { id: "names", code }) });
  onTestFinished(async () => void (await plugin.close()));
  const names = ["api.registerSessionExtension", "api.agent.events.emitAgentEvent", "api.runContext.setRunContext"];
  expect(await plugin.callHook("before_prompt_build", {})).toEqual([
    names.map((name) => `this gateway does not have ${name}`),
  ]);
  expect(plugin.record).toMatchObject({ notServed: names, neverCalled: ["registerMemoryRuntime"] });
});

test("factories without names make together the tools that the manifest lists", async () => {
  const code = `export default (api) => {
    const tool = (name) => ({ name, description: name, execute: () => name + " ran" });
    api.registerTool(() => [tool("one"), tool("two")]);
    api.registerTool(() => tool("three"));
  };`;
  const manifest = { contracts: { tools: ["one", "two", "three"] } };
  const plugin = await openTestPlugin({ root: writePlugin(folder(), { id: "many", code, manifest }) });
  onTestFinished(async () => void (await plugin.close()));
  expect(plugin.tools.map(({ name }) => name)).toEqual(["one", "two", "three"]);
  expect((await plugin.runTool("three", {})).content).toEqual([{ type: "text", text: "three ran" }]);
});

test("a tool's result is kept without details that cannot be written", async () => {
  const code = `export default (api) => {
    const endless = {};
    endless.self = endless;
    const execute = () => ({ content: [{ type: "text", text: "done" }], details: endless });
    api.registerTool({ name: "ends", description: "Ends.", execute });
  };`;
  const root = writePlugin(folder(), { id: "endless", code, manifest: { contracts: { tools: ["ends"] } } });
  const plugin = await openTestPlugin({ root });
  onTestFinished(async () => void (await plugin.close()));
  expect(await plugin.runTool("ends", {})).toEqual({ content: [{ type: "text", text: "done" }] });
});

test("an answer of a plugin that cannot be written fails its method, instead of leaving the caller without an answer", async () => {
  const code = `export default (api) => {
    api.registerGatewayMethod("many.sum", () => ({ sum: 10n }));
    api.session.controls.registerSessionAction({ id: "sum", handler: () => ({ sum: 10n }) });
  };`;
  const root = writePlugin(folder(), { id: "many", code });
  const found = await readPlugin(root, "config");
  if (found.kind !== "found") throw new Error(found.kind);
  const contributions = new Contributions([]);
  open = new Plugins(contributions, testPorts({ id: "many", folder: root, config: {} }));
  await open.apply({ plugins: [found.plugin], broken: [] });
  const client = { id: "test", version: "1", platform: "linux", mode: "cli" };
  const caller = { connId: "1", scopes: new Set(["operator.admin"]), client };
  await expect(contributions.methods[0]?.run({}, caller)).rejects.toThrow("BigInt");
  await expect(open.action("many", "sum")?.run({})).rejects.toThrow("BigInt");
});

test("a trusted tool policy is asked before every hook of a tool's call, and refuses with its reason", async () => {
  const code = `export default (api) => {
    api.on("before_tool_call", () => ({ params: {} }), { priority: 1e9 });
    api.registerTrustedToolPolicy({ id: "vault", evaluate: ({ toolName }) =>
      toolName === "exec" ? { allow: false, reason: "no commands here" } : undefined });
  };`;
  const root = writePlugin(folder(), { id: "vault", code });
  const plugin = await openTestPlugin({ root });
  onTestFinished(async () => void (await plugin.close()));
  expect(await plugin.callHook("before_tool_call", { toolName: "exec" })).toEqual([
    { block: true, blockReason: "no commands here" },
    { params: {} },
  ]);
  expect(await plugin.callHook("before_tool_call", { toolName: "read" })).toEqual([undefined, { params: {} }]);
});
