import { z } from "zod";
import type { ChildAct, ChildView, SubagentActs } from "../../types/subagent/spawn.ts";
import type { Tool, ToolContext, ToolResult, ToolScene } from "../../types/run/tool.ts";
import { defineTool, errorResult, textResult } from "../define.ts";
import { askerOf } from "./asker.ts";

export const SUBAGENTS_TOOL = "subagents";

const RECENT_MINUTES = 30;
const MOST_WAIT_SECONDS = 60;

const input = z.lazy(() =>
  z.object({
    action: z.enum(["list", "kill", "cancel", "steer", "wait"]).default("list"),
    target: z.string().optional().describe("Number of the list, label, id, or all"),
    taskIds: z.array(z.string()).max(50).optional().describe("As target, for wait and cancel"),
    message: z.string().optional().describe("For steer: ends what it does, and begins again with this message"),
    recentMinutes: z.number().min(1).max(1440).optional(),
    timeoutSeconds: z.number().min(0).max(MOST_WAIT_SECONDS).optional().describe("For wait"),
  }),
);
type Input = z.output<typeof input>;

/** The tool `subagents`: shows, ends and corrects the subagents below the run's session. */
export function subagentsTool(acts: SubagentActs, scene: ToolScene): Tool {
  return defineTool<Input>({
    name: SUBAGENTS_TOOL,
    label: "Subagents",
    description:
      "List your subagents, end one (kill), correct one (steer), or wait for them. Their results come by themselves.",
    input,
    hasSideEffects: true,
    run: (asked, context) => RUNS[asked.action](asked, { acts, scene, context }),
  });
}

interface Call {
  readonly acts: SubagentActs;
  readonly scene: ToolScene;
  readonly context: ToolContext;
}
type Run = (asked: Input, call: Call) => Promise<ToolResult>;

const RUNS: Readonly<Record<Input["action"], Run>> = {
  async list({ recentMinutes = RECENT_MINUTES }, { acts, scene, context }) {
    const children = acts.children(askerOf(scene, context), recentMinutes);
    return shown({ subagents: children.map(viewOf) });
  },
  kill,
  cancel: kill,
  async steer({ target, message }, { acts, scene, context }) {
    if (target === undefined || message === undefined || message.trim() === "")
      return errorResult("Give target and message.");
    const act = await acts.say("steer", { target, message }, askerOf(scene, context));
    return typeof act === "string" ? errorResult(act) : shown(act);
  },
  async wait({ target, taskIds = [], timeoutSeconds = MOST_WAIT_SECONDS }, { acts, scene, context }) {
    const targets = [...(target === undefined ? [] : [target]), ...taskIds];
    const how = { timeoutMs: timeoutSeconds * 1000, signal: context.signal };
    const children = await acts.wait(targets, how, askerOf(scene, context));
    return typeof children === "string" ? errorResult(children) : shown({ subagents: children.map(viewOf) });
  },
};

async function kill({ target, taskIds = [] }: Input, { acts, scene, context }: Call): Promise<ToolResult> {
  const targets = [...(target === undefined ? [] : [target]), ...taskIds];
  if (targets.length === 0) return errorResult("Give target.");
  const killed: ChildAct[] = [];
  for (const one of targets) {
    const acted = await acts.kill(one, askerOf(scene, context));
    if (typeof acted === "string") return errorResult(acted);
    killed.push(...acted);
  }
  return shown({ killed });
}

const viewOf = ({ key, updatedAt, ...view }: ChildView) => ({
  ...view,
  sessionKey: key,
  updatedAt: new Date(updatedAt).toISOString(),
});

const shown = (value: object): ToolResult => textResult(JSON.stringify(value));
