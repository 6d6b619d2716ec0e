import { z } from "zod";
import { defineTool, errorResult, textResult } from "../define.ts";
import type { CommandLine } from "../../types/run/backend.ts";
import type { Tool, ToolContext, ToolResult } from "../../types/run/tool.ts";
import { describeEnd } from "./command-end.ts";
import { permit, REFUSALS, type ExecOptions } from "./permission.ts";

const input = z.object({
  command: z.string().min(1).describe("Shell command"),
  timeout: z.number().positive().optional().describe("Seconds after which it is ended"),
  cwd: z.string().optional().describe("Directory to run in; the workspace when left out"),
});

async function runAllowed(
  wanted: Pick<CommandLine, "command" | "cwd" | "argv"> & Pick<z.output<typeof input>, "timeout">,
  options: ExecOptions,
  context: ToolContext,
): Promise<ToolResult> {
  const timeoutMs = Math.min((wanted.timeout ?? Infinity) * 1000, options.settings.timeoutMs);
  const end = await options.backend.run({
    command: wanted.command,
    argv: wanted.argv,
    cwd: wanted.cwd,
    timeoutMs,
    env: await context.commandEnv?.(),
    signal: context.signal,
    update: (partial) => context.update(partial),
  });
  const left = end.left.map(({ pid }) => pid);
  const details = { exitCode: end.code, because: end.because, cwd: wanted.cwd, ...(left.length > 0 && { left }) };
  const text = describeEnd(end, timeoutMs);
  return end.because === "exit" && end.code === 0 ? textResult(text, details) : errorResult(text, details);
}

/** Runs shell commands, after asking where the settings say so. */
export function execTool(options: ExecOptions): Tool {
  return defineTool({
    name: "exec",
    label: "Exec",
    description:
      "Run a shell command and get its output and exit code. A person may be asked first and may refuse. There is no " +
      "terminal and no input; start nothing that waits for either.",
    input,
    hasSideEffects: true,
    async run(wanted, context) {
      const cwd = await options.backend.directory(wanted.cwd ?? ".", context.workspace);
      const permitted = await permit({ command: wanted.command, cwd }, options, context);
      if (permitted.kind === "refused") return errorResult(permitted.text, { refused: true });
      // The run may have been stopped after a person allowed the command.
      if (context.signal.aborted) return errorResult(REFUSALS.abort, { refused: true });
      return runAllowed({ ...wanted, cwd, argv: permitted.argv }, options, context);
    },
  });
}
