import type { Allowances } from "../../src/tools/exec/permission.ts";
import { hostBackends, type HostOptions } from "../../src/tools/host/host.ts";
import type { Processes } from "../../src/tools/process/processes.ts";
import { backendTools, toolsFor } from "../../src/tools/tools.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import { OPERATOR, type Acting } from "../../src/types/run/principal.ts";
import type { Tool, ToolContribution } from "../../src/types/run/tool.ts";

interface Options extends HostOptions {
  readonly rules: Allowances;
  /** Where commands go on in the background; without it they do not. */
  readonly processes?: Processes | undefined;
  /** For whom the run acts; the operator when unset. */
  readonly acting?: Partial<Acting>;
  /** Tools of plugins. */
  readonly extra?: readonly Tool[];
}

/** For tests in which every tool can be made. */
export function unexpected(tool: string, error: unknown): never {
  throw new Error(`the tool ${tool} could not be made`, { cause: error });
}

/** The tools of a run on this machine. */
export function createTools({ rules, extra = [], processes, acting: patch, ...host }: Options): readonly Tool[] {
  const contributed = extra.map((tool): ToolContribution => ({ name: tool.name, forRun: () => tool }));
  const acting = { principal: OPERATOR, sessionKey: sessionKey("s1"), ...patch };
  const scene = { ...hostBackends(host), agent: { ...host.settings, id: agentId("main") }, acting };
  return toolsFor([...backendTools(rules, processes), ...contributed], scene, unexpected).tools;
}
