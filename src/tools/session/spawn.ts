import { z } from "zod";
import type { SubagentActs } from "../../types/subagent/spawn.ts";
import type { Tool, ToolScene } from "../../types/run/tool.ts";
import { defineTool, errorResult, textResult } from "../define.ts";
import { askerOf } from "./asker.ts";
import { spawnKeyOf } from "./spawn-names.ts";

export const SPAWN_TOOL = "sessions_spawn";

const MOST_FILES = 50;

const file = z.lazy(() =>
  z.object({
    name: z.string(),
    content: z.string(),
    encoding: z.enum(["utf8", "base64"]).optional(),
    mimeType: z.string().optional(),
  }),
);

const input = z.lazy(() =>
  z.object({
    task: z.string().trim().min(1).describe("All that it needs to know: it sees nothing of this conversation"),
    taskName: z
      .string()
      .regex(/^(?!(?:last|all)$)[a-z][a-z0-9_-]{0,63}$/)
      .optional()
      .describe("Your name for it, such as price_check"),
    label: z.string().trim().min(1).max(512).optional(),
    agentId: z.string().optional().describe("See agents_list; you when left out"),
    runtime: z.enum(["subagent", "acp"]).optional(),
    model: z.string().optional(),
    thinking: z.string().optional(),
    cwd: z.string().optional(),
    runTimeoutSeconds: z.number().min(0).optional(),
    timeoutSeconds: z.number().min(0).optional().describe("As runTimeoutSeconds"),
    thread: z.boolean().optional(),
    mode: z.enum(["run", "session"]).optional(),
    cleanup: z.enum(["keep", "delete"]).optional(),
    sandbox: z.enum(["inherit", "require"]).optional(),
    context: z.enum(["isolated", "fork"]).optional().describe("fork: it begins with a copy of this conversation"),
    lightContext: z.boolean().optional(),
    expectsCompletionMessage: z.boolean().optional(),
    attachments: z.array(file).max(MOST_FILES).optional(),
    attachAs: z.object({ mountPath: z.string().optional() }).optional(),
  }),
);
type Input = z.output<typeof input>;

const DESCRIPTION =
  "Give a task to a subagent, which works on its own while you go on. It answers at once with accepted; the result comes to you by itself as a " +
  "message when the subagent has ended, so do not ask for it again and again. Several run at the same time.";

const PREFER =
  "Give every task that takes more than a few steps to a subagent, so that your person never waits for you.";

/** The tool `sessions_spawn`: starts a subagent. */
export function spawnTool(acts: Pick<SubagentActs, "prefersDelegation" | "spawn">, scene: ToolScene): Tool {
  return defineTool<Input>({
    name: SPAWN_TOOL,
    label: "Start a subagent",
    description: acts.prefersDelegation(scene.agent.id) ? `${DESCRIPTION} ${PREFER}` : DESCRIPTION,
    input,
    hasSideEffects: true,
    async run({ runtime, attachments, attachAs, timeoutSeconds, runTimeoutSeconds, ...ask }, context) {
      if (runtime === "acp")
        return errorResult("The runtime acp is not offered here: leave runtime out.", { status: "error" });
      const answer = await acts.spawn(
        {
          ...ask,
          spawnKey: spawnKeyOf({ ...context, task: ask.task }),
          runTimeoutSeconds: runTimeoutSeconds ?? timeoutSeconds,
          files: attachments,
          mountPath: attachAs?.mountPath,
        },
        askerOf(scene, context),
      );
      const text = JSON.stringify(answer);
      return answer.status === "accepted" ? textResult(text, answer) : errorResult(answer.error, answer);
    },
  });
}
