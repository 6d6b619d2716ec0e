import type { SessionActs } from "../../types/session-acts.ts";
import type { ToolContribution } from "../../types/run/tool.ts";
import { AGENTS_TOOL, agentsListTool } from "./agents.ts";
import { PLAN_TOOL, updatePlanTool } from "./plan.ts";
import { sessionStatusTool, STATUS_TOOL } from "./status.ts";

/** The tools that show and change what the gateway knows of a run's session and its agents. */
export const sessionTools = (acts: SessionActs): readonly ToolContribution[] => [
  { name: PLAN_TOOL, forRun: ({ acting }) => updatePlanTool((plan) => acts.keepPlan(acting.sessionKey, plan)) },
  { name: STATUS_TOOL, forRun: ({ acting }) => sessionStatusTool(acts, acting) },
  { name: AGENTS_TOOL, forRun: ({ agent }) => agentsListTool(acts, agent.id) },
];
