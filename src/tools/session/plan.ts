import { z } from "zod";
import { PLAN_STATUSES, type Plan, type PlanStep } from "../../types/plan.ts";
import type { Tool } from "../../types/run/tool.ts";
import { isFields } from "../../utils/fields.ts";
import { defineTool, errorResult, textResult } from "../define.ts";

export const PLAN_TOOL = "update_plan";

const MOST_STEPS = 50;
/** Most bytes of the whole plan. */
const MOST_BYTES = 8192;

const steps = z.array(z.object({ step: z.string().trim().min(1), status: z.enum(PLAN_STATUSES) }));

const input = z.lazy(() =>
  z.object({
    explanation: z.string().optional(),
    plan: steps.max(MOST_STEPS).optional().describe("All steps; at most one in_progress"),
    markdown: z.string().optional().describe("Instead of plan: lines `- [ ] step`, `- [x] done`, `- [~] in progress`"),
  }),
);
type Input = z.output<typeof input>;

/**
 * The tool `update_plan`: replaces the plan of the run's conversation. `keep` may reject, for example when the disk is
 * full.
 */
export function updatePlanTool(keep: (plan: Plan) => Promise<void>): Tool {
  return defineTool<Input>({
    name: PLAN_TOOL,
    label: "Plan",
    description:
      "Show people your plan for a task of several steps, and each change of it. Each call replaces the whole plan; an empty list removes it.",
    input,
    hasSideEffects: false,
    async run(asked) {
      const plan = planOf(asked);
      if (typeof plan === "string") return errorResult(plan);
      await keep(plan);
      const done = plan.steps.filter(({ status }) => status === "completed").length;
      return textResult(`The plan is shown: ${done} of ${plan.steps.length} steps completed.`, {
        status: "updated",
        plan,
      });
    },
  });
}

/** The plan, or the reason why there is none. */
function planOf({ explanation, plan, markdown }: Input): Plan | string {
  if ((plan === undefined) === (markdown === undefined)) return "Give the steps in `plan`, or in `markdown`.";
  if (Buffer.byteLength(JSON.stringify({ explanation, plan, markdown })) > MOST_BYTES)
    return `The plan is too long: at most ${MOST_BYTES} bytes are kept. Write shorter steps.`;
  const all = plan ?? (markdown ?? "").split("\n").flatMap(stepIn);
  if (all.length > MOST_STEPS) return `The plan has ${all.length} steps; at most ${MOST_STEPS} are kept.`;
  if (markdown !== undefined && markdown.trim() !== "" && all.length === 0)
    return "The markdown has no steps: begin the line of each step with `- [ ] `.";
  if (all.filter(({ status }) => status === "in_progress").length > 1)
    return "Only one step can be in_progress at a time.";
  return { ...(explanation !== undefined && { explanation }), steps: all };
}

const BOX = /^\s*[-*+] \[([ xX~-])\]\s+(\S.*)$/;

function stepIn(line: string): readonly PlanStep[] {
  const [, mark = " ", step] = BOX.exec(line) ?? [];
  if (step === undefined) return [];
  if (mark === " ") return [{ step: step.trim(), status: "pending" }];
  return [{ step: step.trim(), status: mark.toLowerCase() === "x" ? "completed" : "in_progress" }];
}

const kept = z.lazy(() => z.object({ explanation: z.string().optional(), steps: steps.max(MOST_STEPS) }));

/** The plan in the result of a call; undefined for other tools, and for a call that failed. */
export function planIn(tool: string, result: unknown): Plan | undefined {
  if (tool !== PLAN_TOOL || !isFields(result) || !isFields(result["details"])) return undefined;
  return readPlan(result["details"]["plan"]);
}

/** The plan of a session's row, which another program may have written; undefined for any other value. */
export const readPlan = (value: unknown): Plan | undefined => kept.safeParse(value).data;
