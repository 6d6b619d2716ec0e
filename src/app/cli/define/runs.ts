import { type Command, Option } from "commander";
import type { RunListFlags, RunShowFlags } from "../commands/runs/runs.ts";
import { TASK_STATUSES } from "../../../types/subagent/task-status.ts";
import type { AuditFlags, TaskListFlags } from "../commands/tasks/tasks.ts";
import { USAGE_GROUPS } from "../../../types/spend/ledger.ts";
import type { UsageFlags } from "../commands/usage/usage.ts";
import { wholeNumber, type Act } from "./act.ts";

/** The commands about runs. */
export function defineRuns(program: Command, act: Act): void {
  defineUsage(program, act);
  defineTasks(program, act);
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
    .action(act(async (io, flags: UsageFlags) => (await import("../commands/usage/usage.ts")).showUsage(io, flags)));
}

interface Json {
  readonly json?: boolean;
}

/** `tasks …`: work that no message of a person waits for. */
function defineTasks(program: Command, act: Act): void {
  const tasks = program
    .command("tasks")
    .description("work in the background: runs of jobs, subagents, webhooks, commands");
  tasks
    .command("list", { isDefault: true })
    .description("list them, the latest first (the default)")
    .addOption(new Option("--status <status>", "only those").choices(TASK_STATUSES))
    .option("--agent <id>", "only this agent's")
    .option("--session <key>", "only those that this conversation asked for, or that work in it")
    .option("--limit <count>", "most entries to list", wholeNumber(1, 500), 50)
    .option("--json", "for scripts")
    .action(act(async (io, flags: TaskListFlags) => (await import("../commands/tasks/tasks.ts")).tasksList(io, flags)));
  tasks
    .command("show")
    .argument("<id>", "task, as the list names it")
    .description("show one: what it was asked, how it went, what it answered")
    .option("--json", "for scripts")
    .action(
      act(async (io, id: string, flags: Json) => (await import("../commands/tasks/tasks.ts")).tasksShow(io, id, flags)),
    );
  tasks
    .command("cancel")
    .argument("<id>", "task, as the list names it")
    .description("end one that waits or runs")
    .option("--json", "for scripts")
    .action(
      act(async (io, id: string, flags: Json) =>
        (await import("../commands/tasks/tasks.ts")).tasksCancel(io, id, flags),
      ),
    );
  tasks
    .command("audit")
    .description("find those that wait or run too long, failed in the last day, or whose answer did not arrive")
    .option("--agent <id>", "only this agent's")
    .option("--json", "for scripts")
    .action(act(async (io, flags: AuditFlags) => (await import("../commands/tasks/tasks.ts")).tasksAudit(io, flags)));
}
