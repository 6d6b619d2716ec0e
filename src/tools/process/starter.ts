import type { AgentId, SessionKey } from "../../types/ids.ts";
import { hasOwnerRights } from "../../types/run/principal.ts";
import type { ToolScene } from "../../types/run/tool.ts";

/** Who started something in the background, and therefore who may see it. */
export interface Starter {
  readonly agentId: AgentId;
  readonly sessionKey: SessionKey;
  readonly hasOwnerRights: boolean;
  /** The end of a command that a subagent started is not reported to anybody. */
  readonly isSubagent: boolean;
  /** Names of the tools of the run that started it: the turn after its end has no others. */
  readonly tools?: readonly string[];
}

export const starterOf = ({ agent, acting, names }: Pick<ToolScene, "agent" | "acting" | "names">): Starter => ({
  agentId: agent.id,
  sessionKey: acting.sessionKey,
  hasOwnerRights: hasOwnerRights(acting.principal),
  isSubagent: (acting.depth ?? 0) > 0,
  ...(names && { tools: names }),
});

/** An owner's turn sees all that its agent started; a guest's turn what guests of its own conversation did. */
export function maySee(viewer: Starter, starter: Starter): boolean {
  if (starter.agentId !== viewer.agentId) return false;
  return viewer.hasOwnerRights || (!starter.hasOwnerRights && starter.sessionKey === viewer.sessionKey);
}
