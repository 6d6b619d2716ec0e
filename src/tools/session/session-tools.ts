import type { SessionActs } from "../../types/session-acts.ts";
import type { SessionTalk, SubagentActs } from "../../types/subagent/spawn.ts";
import type { Tool, ToolContribution, ToolScene } from "../../types/run/tool.ts";
import { sameInEachRun } from "../lazy-tool.ts";
import { AGENTS_TOOL, agentsListTool } from "./agents.ts";
import { PLAN_TOOL, updatePlanTool } from "./plan.ts";
import { sessionStatusTool, STATUS_TOOL } from "./status.ts";
import { SPAWN_TOOL, spawnTool } from "./spawn.ts";
import { SUBAGENTS_TOOL, subagentsTool } from "./subagents.ts";
import { SEARCH_TOOL, searchTool } from "./search.ts";
import { HISTORY_TOOL, historyTool, LIST_TOOL, listTool, SEND_TOOL, sendTool } from "./talk.ts";
import { YIELD_TOOL, yieldTool } from "./yield.ts";

/** The tools about a run's own session and its agents. */
export const sessionTools = (acts: SessionActs): readonly ToolContribution[] => [
  {
    name: PLAN_TOOL,
    appearance: sameInEachRun,
    forRun: ({ acting }) => updatePlanTool((plan) => acts.keepPlan(acting.sessionKey, plan)),
  },
  { name: STATUS_TOOL, appearance: sameInEachRun, forRun: (scene) => sessionStatusTool(acts, scene) },
  { name: AGENTS_TOOL, appearance: sameInEachRun, forRun: ({ agent }) => agentsListTool(acts, agent.id) },
];

/** Ports of tools to other sessions; each is undefined until the gateway has begun. */
export interface OtherSessions {
  subagents(): SubagentActs | undefined;
  talk(): SessionTalk | undefined;
}

/** The tools that start other sessions, read them and write to them. */
export const otherSessionTools = ({ subagents, talk }: OtherSessions): readonly ToolContribution[] => [
  withActs(SPAWN_TOOL, subagents, spawnTool, (acts, { agent }) => String(acts.prefersDelegation(agent.id))),
  withActs(SUBAGENTS_TOOL, subagents, subagentsTool),
  withActs(YIELD_TOOL, subagents, yieldTool),
  withActs(LIST_TOOL, talk, listTool),
  withActs(HISTORY_TOOL, talk, historyTool),
  withActs(SEARCH_TOOL, talk, searchTool),
  withActs(SEND_TOOL, talk, sendTool),
];

function withActs<Acts>(
  name: string,
  acts: () => Acts | undefined,
  make: (acts: Acts, scene: ToolScene) => Tool,
  appearance: (acts: Acts, scene: ToolScene) => string = sameInEachRun,
): ToolContribution {
  return {
    name,
    appearance(scene) {
      const own = acts();
      return own ? appearance(own, scene) : false;
    },
    forRun(scene) {
      const own = acts();
      return own && make(own, scene);
    },
  };
}
