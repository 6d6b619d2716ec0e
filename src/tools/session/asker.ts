import { hasOwnerRights } from "../../types/run/principal.ts";
import type { SessionAsker } from "../../types/subagent/spawn.ts";
import type { ToolContext, ToolScene } from "../../types/run/tool.ts";

/** The calling run, as other sessions know it. */
export const askerOf = (
  { acting, agent, names, isSandboxed }: ToolScene,
  { runId }: Pick<ToolContext, "runId">,
): SessionAsker => ({
  sessionKey: acting.sessionKey,
  runId,
  agentId: agent.id,
  isOwner: hasOwnerRights(acting.principal),
  tools: names ?? [],
  isSandboxed: isSandboxed === true,
  ...(isSandboxed === true && agent.sandbox?.sessionToolsVisibility === "all" && { seesLikeOthers: true }),
  depth: acting.depth ?? 0,
  ...(acting.root !== undefined && { root: acting.root }),
});
