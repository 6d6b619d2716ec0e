import { z } from "zod";
import type { AgentId } from "../../types/ids.ts";
import type { SessionActs } from "../../types/session-acts.ts";
import type { Tool } from "../../types/run/tool.ts";
import { defineTool, textResult } from "../define.ts";

export const AGENTS_TOOL = "agents_list";

const input = z.object({});

/** The tool `agents_list`: lists the agent itself, and the agents that the config lets it start. */
export function agentsListTool(acts: Pick<SessionActs, "agents">, requester: AgentId): Tool {
  return defineTool({
    name: AGENTS_TOOL,
    label: "Agents",
    description: "List the agents that you may start as subagents.",
    input,
    hasSideEffects: false,
    async run() {
      const { all, mayStart } = acts.agents(requester);
      const allowAny = mayStart.includes("*");
      const agents = all.filter(({ id }) => id === requester || allowAny || mayStart.includes(id));
      const lines = agents.map(({ id, name }) => {
        const own = id === requester ? " (you)" : "";
        return `- ${id}${name === undefined ? "" : `: ${name}`}${own}`;
      });
      return textResult(lines.join("\n"), { requester, allowAny, agents });
    },
  });
}
