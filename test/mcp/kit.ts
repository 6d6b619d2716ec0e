import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { mcpConfig } from "../../src/mcp/config.ts";
import { McpServers, type McpPorts } from "../../src/mcp/servers.ts";
import { runTool } from "../../src/tools/run.ts";
import { systemClock } from "../../src/types/clock.ts";
import type { Tool, ToolContribution, ToolResult, ToolScene } from "../../src/types/run/tool.ts";
import { isMissing } from "../../src/utils/missing.ts";
import { recordLog, type RecordedLog } from "../kit/log.ts";
import { toolContext } from "../kit/tools.ts";

export const NEVER = new AbortController().signal;

/** Servers of a config, as a gateway has them. They end with the test. */
export interface World {
  readonly servers: McpServers;
  readonly log: RecordedLog;
  readonly dir: string;
  /** Gives the file a new content. */
  setConfig(mcp: object): void;
  /** The names of all tools, once they are known. */
  names(): Promise<readonly string[]>;
  call(name: string, input?: object, signal?: AbortSignal): Promise<ToolResult>;
  /** What the hostile server noted: how often it was started, and the ids of its processes. */
  starts(): readonly number[];
}

export function world(mcp: object, more: Partial<McpPorts> = {}, dir = newDir()): World {
  const log = recordLog();
  let config = mcpConfig.parse(mcp);
  const servers = new McpServers({
    clock: systemClock,
    log,
    config: () => config,
    listPath: join(dir, "mcp-tools.json"),
    version: "0.0.0",
    stateDir: dir,
    home: dir,
    env: process.env,
    secretVariables: () => [],
    ...more,
  });
  onTestFinished(() => servers.close());
  return {
    servers,
    log,
    dir,
    setConfig: (next) => (config = mcpConfig.parse(next)),
    async names() {
      await servers.ready(NEVER);
      return servers.tools().map(({ name }) => name);
    },
    async call(name, input = {}, signal = NEVER) {
      await servers.ready(NEVER);
      return runTool(toolOf(servers.tools(), name), input, toolContext(dir, { signal }));
    },
    starts: () => startsIn(dir),
  };
}

export function newDir(): string {
  const dir = mkdtempSync(join(tmpdir(), "mcp-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
  return dir;
}

export function toolOf(tools: readonly ToolContribution[], name: string): Tool {
  const tool = tools.find((one) => one.name === name)?.forRun({} as ToolScene);
  if (!tool) throw new Error(`there is no tool ${name} among ${tools.map((one) => one.name).join(" ")}`);
  return tool;
}

/** The config of the hostile server. */
export const hostile = (habit: string, dir: string, more: object = {}) => ({
  command: process.execPath,
  args: [join(import.meta.dirname, "servers/hostile.ts"), habit, join(dir, "notes")],
  ...more,
});

function startsIn(dir: string): readonly number[] {
  try {
    const lines = readFileSync(join(dir, "notes"), "utf8").split("\n");
    return lines.filter((line) => line.startsWith("start ")).map((line) => Number(line.slice(6)));
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

export const textOf = ({ content }: ToolResult): string =>
  content.map((part) => (part.type === "text" ? part.text : `[${part.mimeType}]`)).join("\n");

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    // There is no such process.
    return false;
  }
}
