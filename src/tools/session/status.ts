import { z } from "zod";
import { hasOwnerRights } from "../../types/run/principal.ts";
import type { SessionActs } from "../../types/session-acts.ts";
import type { Tool, ToolScene } from "../../types/run/tool.ts";
import { defineTool, errorResult, textResult } from "../define.ts";
import { askerOf } from "./asker.ts";

export const STATUS_TOOL = "session_status";

const input = z.lazy(() =>
  z.object({
    sessionKey: z.string().trim().min(1).optional().describe("Default: this session"),
    model: z.string().trim().min(1).optional().describe("Model from the next turn on; default resets it"),
  }),
);
type Input = z.output<typeof input>;

/**
 * The tool `session_status`. A turn without an owner's rights sees its own session alone, and cannot change the model.
 * Other turns see and change the sessions that the other tools on sessions reach.
 */
export function sessionStatusTool(
  acts: Pick<SessionActs, "status" | "chooseModel" | "whyHidden" | "named" | "shown">,
  scene: ToolScene,
): Tool {
  const { acting } = scene;
  const isOwner = hasOwnerRights(acting.principal);
  return defineTool<Input>({
    name: STATUS_TOOL,
    label: "Session status",
    description: "Show the time, and a session's model, usage, cost, queue and plan; or change its model.",
    input,
    hasSideEffects: true,
    async run({ sessionKey: named, model }, context) {
      const key = named === undefined || named === "current" ? acting.sessionKey : acts.named(named);
      if (key !== acting.sessionKey && !isOwner)
        return errorResult("Only an owner's conversations can see other sessions.", { status: "forbidden" });
      const hidden = acts.whyHidden(key, askerOf(scene, context));
      if (hidden !== undefined) return errorResult(hidden, { status: "forbidden" });
      if (model !== undefined && !isOwner)
        return errorResult("Only an owner's conversations can change the model.", { status: "forbidden" });
      const refused = model === undefined ? undefined : await acts.chooseModel(key, model);
      if (refused !== undefined) return errorResult(refused, { status: "error" });
      const text = await acts.status(key, { isOwner });
      if (text === undefined) return errorResult("There is no session with this key.", { status: "not_found" });
      return textResult(text, {
        status: "ok",
        sessionKey: acts.shown(key),
        ...(model !== undefined && { changedModel: true }),
      });
    },
  });
}
