import { z } from "zod";
import type { SubagentActs } from "../../types/subagent/spawn.ts";
import type { Tool, ToolScene } from "../../types/run/tool.ts";
import { defineTool, errorResult } from "../define.ts";
import { askerOf } from "./asker.ts";

export const YIELD_TOOL = "sessions_yield";

const input = z.object({
  message: z.string().optional().describe("A note for yourself"),
  waitFor: z.union([z.string(), z.array(z.string())]).optional(),
});
type Input = z.output<typeof input>;

/** The tool `sessions_yield`: ends the turn; the result of a subagent begins the next one. */
export function yieldTool(acts: Pick<SubagentActs, "children" | "untold">, scene: ToolScene): Tool {
  return defineTool<Input>({
    name: YIELD_TOOL,
    label: "Wait for subagents",
    description:
      "End your turn now, because you only wait for subagents. The result of the next one that ends is your next message.",
    input,
    hasSideEffects: false,
    async run({ message }, context) {
      const asker = askerOf(scene, context);
      const running = acts.children(asker, 1).filter(({ status }) => status !== "done");
      // A subagent may have ended a moment ago.
      if (running.length === 0 && (await acts.untold(asker)) === 0)
        return errorResult("None of your subagents is at work, so there is nothing to wait for: answer now.", {
          status: "error",
        });
      const note = message === undefined ? "" : ` Your note: ${message}`;
      const atWork = `${running.length} at work: ${running.map(({ label }) => label).join(", ")}.`;
      const text = `Turn ended. ${running.length === 0 ? "The result is your next message." : atWork}${note}`;
      return { content: [{ type: "text", text }], details: { status: "yielded" }, endsTurn: true };
    },
  });
}
