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

/** Ends the turn; the result of a subagent begins the next one. */
export function yieldTool(acts: Pick<SubagentActs, "children">, scene: ToolScene): Tool {
  return defineTool<Input>({
    name: YIELD_TOOL,
    label: "Wait for subagents",
    description:
      "End your turn now, because you only wait for subagents. The result of the next one that ends is your next message.",
    input,
    hasSideEffects: false,
    async run({ message }, context) {
      const running = acts.children(askerOf(scene, context), 1).filter(({ status }) => status !== "done");
      if (running.length === 0)
        return errorResult("None of your subagents is at work, so there is nothing to wait for: answer now.", {
          status: "error",
        });
      const note = message === undefined ? "" : ` Your note: ${message}`;
      const text = `Turn ended. ${running.length} at work: ${running.map(({ label }) => label).join(", ")}.${note}`;
      return { content: [{ type: "text", text }], details: { status: "yielded" }, endsTurn: true };
    },
  });
}
