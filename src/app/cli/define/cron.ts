import { type Command, Option } from "commander";
import { CLEARABLE, type GivenFlags, JOB_FLAGS } from "../cron-flags.ts";
import type { CronListFlags, CronRunFlags, RunsFlags } from "../commands/cron/cron.ts";
import type { Act } from "./act.ts";

interface Json {
  readonly json?: boolean;
}

const commands = () => import("../commands/cron/cron.ts");

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** The commands about scheduled jobs. `automations` is the field's newer name of them. */
export function defineCron(program: Command, act: Act): void {
  const cron = program
    .command("cron")
    .alias("automations")
    .description("scheduled jobs: reminders and tasks at certain times");
  defineReads(cron, act);
  defineChanges(cron, act);
  defineRun(cron, act);
}

function defineChanges(cron: Command, act: Act): void {
  jobOptions(
    cron
      .command("add")
      .alias("create")
      .description("add a job")
      .argument("[schedule]", "20m, 2026-12-24T18:00, or a cron expression")
      .argument("[message]", "what the agent is to do"),
  )
    .option("--disabled", "add it switched off")
    .option("--json", "for scripts")
    .action(
      act(async (io, schedule: string | undefined, message: string | undefined, flags: GivenFlags) =>
        (await commands()).cronAdd(io, { schedule, message }, flags),
      ),
    );
  defineEdit(cron, act);
  defineSwitches(cron, act);
}

function defineEdit(cron: Command, act: Act): void {
  const edit = jobOptions(cron.command("edit").description("change a job").argument("<id>"))
    .option("--enable", "switch it on")
    .option("--disable", "switch it off")
    .option("--clear <field>", `remove a field: ${Object.keys(CLEARABLE).join(", ")}`, collect)
    .option("--json", "for scripts");
  for (const field of Object.keys(CLEARABLE))
    edit.addOption(new Option(`--clear-${field}`, `as --clear ${field}`).hideHelp());
  edit.action(act(async (io, id: string, flags: GivenFlags) => (await commands()).cronEdit(io, id, flags)));
}

function defineSwitches(cron: Command, act: Act): void {
  for (const [name, enabled] of [["enable", true] as const, ["disable", false] as const]) {
    cron
      .command(name)
      .description(`switch a job ${enabled ? "on" : "off"}`)
      .argument("<id>")
      .option("--json", "for scripts")
      .action(act(async (io, id: string, flags: Json) => (await commands()).cronSwitch(io, id, { ...flags, enabled })));
  }
  cron
    .command("rm")
    .alias("remove")
    .description("remove a job; its records stay")
    .argument("<id>")
    .option("--json", "for scripts")
    .action(act(async (io, id: string, flags: Json) => (await commands()).cronRemove(io, id, flags)));
}

function defineRun(cron: Command, act: Act): void {
  cron
    .command("run")
    .description("run a job now")
    .argument("<id>")
    .option("--due", "only if it is due")
    .option("--force", "also if it is not due (the default)")
    .option("--wait", "wait for its end; exit with 0 only if it succeeded")
    .option("--wait-timeout <duration>", "how long to wait", "10m")
    .option("--poll-interval <duration>", "how often to look", "2s")
    .option("--json", "for scripts")
    .action(act(async (io, id: string, flags: CronRunFlags) => (await commands()).runCronJob(io, id, flags)));
  cron
    .command("import")
    .description("take over the jobs of another gateway's jobs.json; those that are here already stay as they are")
    .argument("[file]", "default: cron.store, or cron/jobs.json of the state directory")
    .option("--json", "for scripts")
    .action(
      act(async (io, file: string | undefined, flags: Json) =>
        (await import("../commands/cron/cron-import.ts")).cronImport(io, file, flags),
      ),
    );
}

function defineReads(cron: Command, act: Act): void {
  cron
    .command("list", { isDefault: true })
    .description("list the jobs (the default)")
    .option("--all", "also those that are switched off")
    .option("--query <text>", "only those whose name or text has it")
    .option("--agent <id>", "only those of an agent")
    .option("--json", "for scripts")
    .action(act(async (io, flags: CronListFlags) => (await commands()).cronList(io, flags)));
  cron
    .command("status")
    .description("show whether jobs run, how many there are, and when the next is due")
    .option("--json", "for scripts")
    .action(act(async (io, flags: Json) => (await commands()).cronStatus(io, flags)));
  cron
    .command("show")
    .alias("get")
    .description("show a job: its next times, where it reports, and how it went")
    .argument("<id>")
    .option("--json", "for scripts")
    .action(act(async (io, id: string, flags: Json) => (await commands()).cronShow(io, id, flags)));
  cron
    .command("runs")
    .description("show how jobs went, the latest first")
    .option("--id <job>", "only of this job")
    .option("--run-id <id>", "only this run")
    .option("--agent <id>", "only of jobs of an agent")
    .option("--status <status>", "ok, error or skipped")
    .option("--limit <n>", "how many", "20")
    .option("--json", "for scripts")
    .action(act(async (io, flags: RunsFlags) => (await commands()).cronRuns(io, flags)));
}

/** The options of `add` and `edit` about a job. */
function jobOptions(command: Command): Command {
  for (const [flag, text, , how] of JOB_FLAGS) {
    const option = new Option(flag, text).hideHelp(how === "hidden");
    if (how === "pairs") option.argParser(collect);
    command.addOption(typeof how === "object" ? option.choices(how) : option);
  }
  return command;
}
