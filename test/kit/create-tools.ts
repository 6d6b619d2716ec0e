import type { Allowances } from "../../src/tools/exec/exec.ts";
import { hostBackends, type HostOptions } from "../../src/tools/host/host.ts";
import { backendTools, toolsFor } from "../../src/tools/tools.ts";
import { sessionKey } from "../../src/types/ids.ts";
import { OPERATOR } from "../../src/types/run/principal.ts";
import type { Tool, ToolContribution } from "../../src/types/run/tool.ts";

interface Options extends HostOptions {
  readonly rules: Allowances;
  /** Tools of plugins. */
  readonly extra?: readonly Tool[];
}

/** The tools of a run on this machine, which acts for an owner. */
export function createTools({ rules, extra = [], ...host }: Options): readonly Tool[] {
  const contributed = extra.map((tool): ToolContribution => ({ name: tool.name, forRun: () => tool }));
  return toolsFor([...backendTools(rules), ...contributed], {
    ...hostBackends(host),
    agent: host.settings,
    acting: { principal: OPERATOR, sessionKey: sessionKey("s1") },
  });
}
