import type { AgentId, SessionKey } from "../../types/ids.ts";
import { hasOwnerRights } from "../../types/run/principal.ts";
import type { ToolScene } from "../../types/run/tool.ts";

/** Agent, session and rights of a turn that started something in the background, which decide who may see that. */
export interface Starter {
  readonly agentId: AgentId;
  readonly sessionKey: SessionKey;
  readonly hasOwnerRights: boolean;
  /** True for a subagent: the end of its command is not reported. */
  readonly isSubagent: boolean;
  /** Names of the tools of the starting run: the turn after the end has no other tools. */
  readonly tools?: readonly string[];
}

export const starterOf = ({ agent, acting, names }: Pick<ToolScene, "agent" | "acting" | "names">): Starter => ({
  agentId: agent.id,
  sessionKey: acting.sessionKey,
  hasOwnerRights: hasOwnerRights(acting.principal),
  isSubagent: (acting.depth ?? 0) > 0,
  ...(names && { tools: names }),
});

/**
 * Whether a viewer sees the work of a starter. An owner's turn sees all work of its agent; a guest's turn sees the work
 * of guests in its own conversation.
 */
export function maySee(viewer: Starter, starter: Starter): boolean {
  if (starter.agentId !== viewer.agentId) return false;
  return viewer.hasOwnerRights || (!starter.hasOwnerRights && starter.sessionKey === viewer.sessionKey);
}
