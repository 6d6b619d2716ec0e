import { type Command, Option } from "commander";
import type { RunListFlags, RunShowFlags } from "../commands/runs/runs.ts";
import { USAGE_GROUPS } from "../../runs/usage.ts";
import type { UsageFlags } from "../commands/usage/usage.ts";
import { wholeNumber, type Act } from "./act.ts";

/** The commands about runs. */
export function defineRuns(program: Command, act: Act): void {
  defineUsage(program, act);
  const runs = program.command("runs").description("runs of agents: what they did, and why");
  runs
    .command("list", { isDefault: true })
    .description("list runs, the latest first (the default)")
    .option("--session <key>", "only this conversation's")
    .option("--agent <id>", "only this agent's")
    .option("--failed", "only failed runs")
    .option("--limit <count>", "most entries to list", wholeNumber(1, 1000), 20)
    .option("--json", "for scripts")
    .action(act(async (io, options: RunListFlags) => (await import("../commands/runs/runs.ts")).runsList(io, options)));
  runs
    .command("show")
    .argument("<runId>", "run, as `openclaw runs` names it, or the beginning of its id")
    .description("show a run: models, attempts, tools, tokens, messages in and out")
    .option("--prompt", "show what the model saw instead, each part with its source")
    .option("--json", "for scripts")
    .action(
      act(async (io, runId: string, options: RunShowFlags) => {
        const { runsShow } = await import("../commands/runs/runs.ts");
        return runsShow(io, runId, options);
      }),
    );
}

/** The command about what models took. */
function defineUsage(above: Command, act: Act): void {
  above
    .command("usage")
    .description("what the models took: tokens and costs, also of summaries, subagents and jobs")
    .addOption(new Option("--by <group>", "one row for each").choices(USAGE_GROUPS).default("day"))
    .option("--days <count>", "days until today", wholeNumber(1, 3660), 7)
    .option("--agent <id>", "only this agent's, by day")
    .option("--json", "for scripts")
    .action(act(async (io, flags: UsageFlags) => (await import("../commands/usage/usage.ts")).usage(io, flags)));
}
