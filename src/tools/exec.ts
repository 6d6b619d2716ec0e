import { randomUUID } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { ApprovalRules } from "../types/journal.ts";
import type { ExecSettings } from "../types/settings.ts";
import type { ApprovalDecision, Tool, ToolContext, ToolResult } from "../types/tool.ts";
import { defineTool, errorResult, textResult } from "./define.ts";
import { commandEnvironment } from "./exec-env.ts";
import { allowanceFor, allowanceTexts, decideExec } from "./exec-policy.ts";
import { runCommand, type CommandEnd } from "./exec-run.ts";
import { whyUnreadable } from "./hidden.ts";
import type { FileAccess } from "./paths.ts";
import { trimCommand } from "./shell-words.ts";

export interface ExecOptions {
  readonly settings: ExecSettings;
  readonly rules: ApprovalRules;
  /** For the working directory: never one of the gateway's own, but not bound to the workspace. */
  readonly access: FileAccess;
  /** Where long outputs are kept. */
  readonly outputDir: string;
}

const input = z.object({
  command: z.string().min(1).describe("Shell command"),
  timeout: z.number().positive().optional().describe("Seconds after which it is ended"),
  cwd: z.string().optional().describe("Directory to run in; the workspace when left out"),
});

const REFUSALS: Readonly<Record<Exclude<ApprovalDecision, "allow-once" | "allow-always">, string>> = {
  deny: "A person refused this command. Do not try it in another form; ask the user what to do instead.",
  timeout:
    "Nobody answered the question whether this command may run, so it was not run. Tell the user that it waits for approval.",
  abort: "The run was stopped before anybody allowed this command; it was not run.",
};

const REASON = "It is not on the list of commands that run without asking.";

async function allowedTexts(
  { command, cwd }: { command: string; cwd: string },
  rules: ApprovalRules,
  agent: string,
): Promise<ReadonlySet<string>> {
  const texts = allowanceTexts(command);
  const answers = await Promise.all(texts.map((text) => rules.isAllowed(agent, allowanceFor(text, cwd))));
  return new Set(texts.filter((_text, index) => answers[index] === true));
}

/** The refusal, or undefined when the command may run. */
async function refusal(
  command: string,
  cwd: string,
  options: ExecOptions,
  context: ToolContext,
): Promise<string | undefined> {
  const { settings } = options;
  const allowed = await allowedTexts({ command, cwd }, options.rules, context.agentId);
  const decision = decideExec(command, settings, { isAllowed: (text) => allowed.has(text) });
  if (decision === "run") {
    return undefined;
  }
  if (decision === "deny") {
    const why = settings.security === "deny" ? "commands are switched off" : "only listed commands run here";
    return `The command was not run: ${why} (tools.exec).`;
  }
  const unreadable = whyUnreadable(command, cwd);
  if (unreadable !== undefined) {
    return `The command was not run, and nobody can be asked about it: ${unreadable}.`;
  }
  const reason = settings.ask === "always" ? "Every command is asked about." : REASON;
  // The desk itself remembers what is allowed for good.
  const answer = await context.approvals.ask({ command: trimCommand(command), cwd, reason }, context.signal);
  return answer === "allow-once" || answer === "allow-always" ? undefined : REFUSALS[answer];
}

function describe({ output, code, because }: CommandEnd, timeoutMs: number): string {
  const rest = output.file === undefined ? "" : ` All of it is in ${output.file}.`;
  const cut = output.truncated ? `[This is the end of a longer output.${rest}]\n` : "";
  const ends = {
    exit: `[exit code ${code ?? "none: a signal ended it"}]`,
    timeout: `[ended after ${timeoutMs / 1000} seconds: timeout]`,
    abort: "[aborted]",
  };
  const text = output.text.trimEnd();
  return `${cut}${text === "" ? "[no output]" : text}\n\n${ends[because]}`;
}

async function runAllowed(
  wanted: z.output<typeof input>,
  cwd: string,
  options: ExecOptions,
  context: ToolContext,
): Promise<ToolResult> {
  const timeoutMs = Math.min((wanted.timeout ?? Infinity) * 1000, options.settings.timeoutMs);
  const end = await runCommand({
    command: wanted.command,
    cwd,
    env: commandEnvironment(process.env, options.settings.pathPrepend),
    timeoutMs,
    signal: context.signal,
    outputFile: join(options.outputDir, `${randomUUID()}.log`),
    update: (partial) => context.update(partial),
  });
  const details = { exitCode: end.code, because: end.because, cwd };
  const text = describe(end, timeoutMs);
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
      const cwd = await options.access.locate(wanted.cwd ?? ".", context.workspace, "read");
      if (!(await stat(cwd)).isDirectory()) {
        throw new Error(`${wanted.cwd ?? "."} is not a directory.`);
      }
      const refused = await refusal(wanted.command, cwd, options, context);
      return refused === undefined
        ? runAllowed(wanted, cwd, options, context)
        : errorResult(refused, { refused: true });
    },
  });
}
