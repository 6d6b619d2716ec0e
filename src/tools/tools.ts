import { hasOwnerRights } from "../types/run/principal.ts";
import type { Tool, ToolContribution, ToolScene } from "../types/run/tool.ts";
import { execTool } from "./exec/exec.ts";
import type { Allowances } from "./exec/permission.ts";
import { editTool } from "./files/edit.ts";
import { findTool } from "./files/find.ts";
import { grepTool } from "./files/grep.ts";
import { lsTool } from "./files/ls.ts";
import { readTool } from "./files/read.ts";
import { writeTool } from "./files/write.ts";
import { isToolAllowed, isToolAllowedBelow, type PolicyTool } from "./policy.ts";
import type { Starter } from "./process/background-process.ts";
import { processTool } from "./process/process.ts";
import type { Processes } from "./process/processes.ts";

/**
 * The tools that work on files and processes. They reach both only through the backends of the run. Commands go on in the
 * background where there are `processes`, and the agent may use the tool that follows them.
 */
export function backendTools(rules: Allowances, processes?: Processes): readonly ToolContribution[] {
  return [
    { name: "read", forRun: ({ files }) => readTool(files) },
    { name: "write", forRun: ({ files }) => writeTool(files) },
    { name: "edit", forRun: ({ files }) => editTool(files) },
    { name: "grep", forRun: ({ files }) => grepTool(files) },
    { name: "find", forRun: ({ files }) => findTool(files) },
    { name: "ls", forRun: ({ files }) => lsTool(files) },
    {
      name: "exec",
      forRun: (scene) =>
        execTool({
          settings: scene.agent.exec,
          rules,
          backend: scene.exec,
          hasOwnerRights: hasOwnerRights(scene.acting.principal),
          ...(processes && isAvailable(PROCESS, scene) && { background: { processes, starter: starterOf(scene) } }),
        }),
    },
    {
      ...PROCESS,
      forRun: (scene) => processes && processTool({ processes, viewer: starterOf(scene), settings: scene.agent.exec }),
    },
  ];
}

const PROCESS = { name: "process" };

const starterOf = ({ agent, acting }: ToolScene): Starter => ({
  agentId: agent.id,
  sessionKey: acting.sessionKey,
  hasOwnerRights: hasOwnerRights(acting.principal),
  isSubagent: acting.isSubagent === true,
});

/** Whether the policy lets the agent of a run have a tool. */
const isAvailable = (tool: PolicyTool, { agent, acting }: ToolScene): boolean =>
  isToolAllowed(tool, agent.tools) && (acting.isSubagent !== true || isToolAllowedBelow(tool, agent.tools));

/**
 * The tools of one run that the agent's policy allows. Of several contributions with one name the first counts. Reports to
 * `broken` and leaves out what a contribution could not make, or made under another name: the policy did not allow that one.
 */
export function toolsFor(
  contributions: readonly ToolContribution[],
  scene: ToolScene,
  broken: (tool: string, error: unknown) => void,
): readonly Tool[] {
  const byName = new Map<string, ToolContribution>();
  for (const contribution of contributions) {
    if (!byName.has(contribution.name)) byName.set(contribution.name, contribution);
  }
  return [...byName.values()].flatMap((contribution) => {
    if (!isAvailable(contribution, scene)) return [];
    try {
      const tool = made(contribution, scene);
      return tool ? [tool] : [];
    } catch (error) {
      broken(contribution.name, error);
      return [];
    }
  });
}

function made({ name, forRun }: ToolContribution, scene: ToolScene): Tool | undefined {
  const tool = forRun(scene);
  if (tool && tool.name !== name) throw new Error(`it made a tool with another name, "${tool.name}"`);
  return tool;
}
