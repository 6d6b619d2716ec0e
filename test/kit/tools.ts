import { readFileSync } from "node:fs";
import { z } from "zod";
import type { RunningCommand } from "../../src/types/run/backend.ts";
import { agentId, runId, sessionKey } from "../../src/types/ids.ts";
import type { Allowances } from "../../src/tools/exec/permission.ts";
import type { AgentSettings } from "../../src/types/settings.ts";
import type { ApprovalAnswer, ApprovalDesk, Tool, ToolContext, ToolResult, ToolSet } from "../../src/types/run/tool.ts";

/** A tool context; `updates` and `asked` gather what the tool says. */
export function toolContext(
  workspace: string,
  patch: Pick<ToolContext, "untrusted"> & {
    signal?: AbortSignal;
    answer?: ApprovalAnswer;
    updates?: string[];
    asked?: string[];
  } = {},
): ToolContext {
  return {
    runId: runId("r1"),
    sessionKey: sessionKey("s1"),
    agentId: agentId("main"),
    callId: "c1",
    workspace,
    signal: patch.signal ?? new AbortController().signal,
    approvals: {
      ask: async ({ command }) => {
        patch.asked?.push(command);
        return patch.answer ?? "deny";
      },
    },
    update: (partial) => patch.updates?.push(partial),
    ...(patch.untrusted && { untrusted: patch.untrusted }),
  };
}

export const noRules: Allowances = { isAllowed: async () => false };

export function agentSettings(
  workspace: string,
  patch: { tools?: Partial<AgentSettings["tools"]>; exec?: Partial<AgentSettings["exec"]> } = {},
): Pick<AgentSettings, "workspace" | "tools" | "exec"> {
  return {
    workspace,
    tools: { global: { key: "tools" }, workspaceOnly: true, ...patch.tools },
    exec: { security: "full", ask: "off", timeoutMs: 30_000, safeBins: [], pathPrepend: [], ...patch.exec },
  };
}

export function textOf(result: ToolResult): string {
  return result.content.map((part) => (part.type === "text" ? part.text : `<${part.mimeType}>`)).join("");
}

/** A tool of one text argument. */
export function makeTool(
  name: string,
  run: Tool<{ text: string }>["run"],
  hasSideEffects = false,
): Tool<{ text: string }> {
  return {
    name,
    label: name,
    description: `Does ${name}.`,
    input: z.object({ text: z.string().default("") }),
    hasSideEffects,
    run,
  };
}

/** The tools of a run, the same for every model. */
export const toolSet = (tools: readonly Tool[]): ToolSet => ({ tools, on: () => tools });

/** Nobody answers a question for permission. */
export const NO_APPROVER: ApprovalDesk = { ask: async () => "timeout" };

/** A command that has ended at once, for backends of tests. */
export const endedCommand = (text: string, code: number): RunningCommand => ({
  pid: 1,
  input: "none",
  output: { size: text.length, lastAt: 0, text: () => text, watch: () => () => undefined },
  ended: Promise.resolve({ output: { text, truncated: false }, code, because: "exit", left: [] }),
  write: async () => undefined,
  closeInput: async () => undefined,
  end: () => undefined,
});

/** Whether a process runs; in a container nobody may have asked for the exit code of one that has ended. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== "linux" || !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}
