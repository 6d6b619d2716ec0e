import type { Command } from "commander";
import type { RunListFlags, RunShowFlags } from "../commands/runs/runs.ts";
import { wholeNumber, type Act } from "./act.ts";

/** The commands about runs. */
export function defineRuns(program: Command, act: Act): void {
  const runs = program.command("runs").description("what the agent did, and why");
  runs
    .command("list", { isDefault: true })
    .description("runs, the latest first (the default)")
    .option("--session <key>", "only this conversation's")
    .option("--failed", "only those that failed")
    .option("--limit <count>", "at most so many", wholeNumber(1, 1000), 20)
    .option("--json", "for scripts")
    .action(act(async (io, options: RunListFlags) => (await import("../commands/runs/runs.ts")).runsList(io, options)));
  runs
    .command("show")
    .argument("<runId>", "as `openclaw runs` names it, or its beginning")
    .description("one run: models, attempts, tools, tokens, messages in and out")
    .option("--prompt", "instead: what the model saw, with where each piece comes from")
    .option("--json", "for scripts")
    .action(
      act(async (io, runId: string, options: RunShowFlags) => {
        const { runsShow } = await import("../commands/runs/runs.ts");
        return runsShow(io, runId, options);
      }),
    );
}
