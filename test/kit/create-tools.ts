import type { Allowances } from "../../src/tools/exec/permission.ts";
import { hostBackends, type HostOptions } from "../../src/tools/host/host.ts";
import { backendTools, toolsFor } from "../../src/tools/tools.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import { OPERATOR } from "../../src/types/run/principal.ts";
import type { Tool, ToolContribution } from "../../src/types/run/tool.ts";

interface Options extends HostOptions {
  readonly rules: Allowances;
  /** Tools of plugins. */
  readonly extra?: readonly Tool[];
}

/** For tests in which every tool can be made. */
export function unexpected(tool: string, error: unknown): never {
  throw new Error(`the tool ${tool} could not be made`, { cause: error });
}

/** The tools of a run on this machine, which acts for an owner. */
export function createTools({ rules, extra = [], ...host }: Options): readonly Tool[] {
  const contributed = extra.map((tool): ToolContribution => ({ name: tool.name, forRun: () => tool }));
  const acting = { principal: OPERATOR, sessionKey: sessionKey("s1") };
  const scene = { ...hostBackends(host), agent: { ...host.settings, id: agentId("main") }, acting };
  return toolsFor([...backendTools(rules), ...contributed], scene, unexpected).tools;
}
