import type { Allowances } from "../../src/tools/exec/permission.ts";
import { hostBackends, type HostOptions } from "../../src/tools/host/host.ts";
import type { Processes } from "../../src/tools/process/processes.ts";
import { backendTools, toolsFor } from "../../src/tools/tools.ts";
import type { ExecBackend } from "../../src/types/run/backend.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import { OPERATOR, type Acting } from "../../src/types/run/principal.ts";
import type { Elevation, Tool, ToolContribution } from "../../src/types/run/tool.ts";

interface Options extends HostOptions {
  readonly rules: Allowances;
  /** Where commands go on in the background; without it they do not. */
  readonly processes?: Processes | undefined;
  /** For whom the run acts; the operator when unset. */
  readonly acting?: Partial<Acting>;
  /** The way out of the sandbox, as if the commands were in one. */
  readonly elevation?: Pick<Elevation, "level"> | undefined;
  /** What the sandbox is, as if commands were in one. */
  readonly boundary?: Pick<ExecBackend, "isIsolated" | "writesWorkspace"> | undefined;
  /** Tools of plugins. */
  readonly extra?: readonly Tool[];
  /** Tools of the gateway that need more than backends. */
  readonly own?: readonly ToolContribution[];
}

/** For tests in which every tool can be made. */
export function unexpected(tool: string, error: unknown): never {
  throw new Error(`the tool ${tool} could not be made`, { cause: error });
}

/** The tools of a run on this machine. */
export function createTools({
  rules,
  extra = [],
  own = [],
  processes,
  acting: patch,
  elevation,
  boundary,
  ...host
}: Options): readonly Tool[] {
  const contributed = extra.map((tool): ToolContribution => ({ name: tool.name, forRun: () => tool }));
  const acting = { principal: OPERATOR, sessionKey: sessionKey("s1"), ...patch };
  const backends = hostBackends(host);
  const outside = elevation && { elevation: { ...elevation, backend: backends.exec, acting } };
  const exec = { ...backends.exec, ...boundary };
  const scene = { ...backends, exec, agent: { ...host.settings, id: agentId("main") }, acting, ...outside };
  return toolsFor([...backendTools(rules, processes), ...contributed, ...own], scene, unexpected).tools;
}
