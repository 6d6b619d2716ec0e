import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Contributions } from "../src/plugins/contributions.ts";
import { Plugins } from "../src/plugins/host/plugins.ts";
import type { PluginRecord } from "../src/plugins/host/record.ts";
import { readPlugin } from "../src/plugins/manifest/read-plugin.ts";
import type { FoundPlugin } from "../src/types/plugin/manifest.ts";
import type { ChannelAdapter } from "../src/types/chat/channel.ts";
import { agentId, runId, sessionKey } from "../src/types/ids.ts";
import type { HookContext } from "../src/types/hook/hooks.ts";
import { hookFacts, isHookName, type HookName } from "../src/types/hook/hook-table.ts";
import type { Tool, ToolContext, ToolResult, ToolScene } from "../src/types/run/tool.ts";
import { testPorts } from "./plugin-ports.ts";

export interface PluginUnderTest {
  /** The plugin's folder, with its `openclaw.plugin.json`. */
  readonly root: string;
  /** Settings of the plugin, as in `plugins.entries.<id>.config`. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Settings of the plugin's channels, as in `channels.<id>`. */
  readonly channels?: Readonly<Record<string, object>>;
}

/** A plugin that a test has loaded as the gateway does. Conversation access is granted; model calls answer "A completion.". */
export interface TestPlugin {
  /** Record of the plugin: `added` has the names of its contributions, by kind. */
  readonly record: PluginRecord;
  readonly tools: readonly Tool[];
  /** Runs a tool as a model's call does. Rejects as the tool does, and for an input that its schema refuses. */
  runTool(name: string, input: unknown): Promise<ToolResult>;
  /** Calls the plugin's handlers of a hook, and resolves with their answers in order. */
  callHook(name: string, event?: unknown): Promise<readonly unknown[]>;
  /** The adapter of a channel that the plugin adds, for `channelContract`. Rejects when there is none. */
  channel(id: string): Promise<ChannelAdapter>;
  /** Unloads the plugin; `left` has the names of what remains, by kind, which should be nothing. */
  close(): Promise<{ readonly left: PluginRecord["added"] }>;
}

/** Loads a plugin as the gateway does, without a gateway. Rejects with the gateway's reason when it cannot be loaded. */
export async function openTestPlugin({ root, config = {}, channels = {} }: PluginUnderTest): Promise<TestPlugin> {
  const plugin = await found(root);
  const { id } = plugin.manifest;
  const folder = await mkdtemp(join(tmpdir(), "plugin-test-"));
  const contributions = new Contributions([]);
  const plugins = new Plugins(contributions, testPorts({ id, folder, config, channels }));
  const close = async () => {
    await plugins.close();
    await rm(folder, { recursive: true, force: true });
    return { left: contributions.namesOf(id) };
  };
  await plugins.apply({ plugins: [plugin], broken: [] });
  const [record] = plugins.records;
  if (record?.state !== "loaded") {
    await close();
    throw new Error(`the plugin ${id} is not loaded: ${record?.why}`);
  }
  const tools = contributions.tools.flatMap((tool) => tool.forRun(sceneIn(folder)) ?? []);
  return {
    record,
    tools,
    runTool: async (name, input) => toolNamed(tools, name).run(input, callIn(folder)),
    callHook: async (name, event = {}) => {
      const answers: unknown[] = [];
      for (const { handler } of contributions.hooksOf(hookNamed(name)))
        answers.push(await handler(event, hookContextIn(folder)));
      return answers;
    },
    async channel(name) {
      const adapter = await contributions.channel(name)?.adapter();
      if (!adapter) throw new Error(`the plugin adds no channel "${name}"`);
      return adapter;
    },
    close,
  };
}

async function found(root: string): Promise<FoundPlugin> {
  const read = await readPlugin(root, "config");
  if (read.kind === "found") return read.plugin;
  throw new Error(read.kind === "none" ? `${root} has no openclaw.plugin.json` : `${root}: ${read.broken.why}`);
}

function hookNamed(name: string): HookName {
  if (!isHookName(name) || hookFacts(name).isNeverCalled === true)
    throw new Error(`this gateway calls no hook "${name}"`);
  return name;
}

function toolNamed(tools: readonly Tool[], name: string): Tool {
  const tool = tools.find((one) => one.name === name);
  if (!tool) throw new Error(`the plugin adds no tool "${name}"`);
  return tool;
}

const SESSION = {
  agentId: agentId("main"),
  sessionKey: sessionKey("webchat:default:test"),
  sessionId: "session-1",
};

/** A plugin's tool is made from the agent, its workspace and who acts; it does not get the backends, which are missing here. */
const sceneIn = (workspace: string) =>
  ({
    agent: { id: SESSION.agentId, workspace },
    acting: { principal: { kind: "owner", id: "test" }, sessionKey: SESSION.sessionKey, sessionId: SESSION.sessionId },
  }) as unknown as ToolScene;

const callIn = (workspace: string): ToolContext => ({
  agentId: SESSION.agentId,
  sessionKey: SESSION.sessionKey,
  runId: runId("run-1"),
  callId: "call-1",
  workspace,
  signal: new AbortController().signal,
  approvals: { ask: async () => "deny" as const },
  update: () => undefined,
});

const hookContextIn = (workspaceDir: string): HookContext => ({ ...SESSION, workspaceDir });
