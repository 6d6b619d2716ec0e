import { type Command, Option } from "commander";
import type { EditFlags, JobFlags } from "../commands/cron/job-flags.ts";
import type { ListFlags, RunFlags, RunsFlags } from "../commands/cron/cron.ts";
import type { Act } from "./act.ts";

interface Json {
  readonly json?: boolean;
}

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
      act(async (io, schedule: string | undefined, message: string | undefined, flags: JobFlags) =>
        (await import("../commands/cron/cron.ts")).cronAdd(io, { schedule, message }, flags),
      ),
    );
  defineEdit(cron, act);
  defineSwitches(cron, act);
}

/** Fields that `edit` removes. */
const OF_RUN = ["agent", "model", "thinking", "fallbacks", "tools", "pacing"];
const CLEARABLE = [...OF_RUN, "channel", "to", "thread-id", "account"];

function defineEdit(cron: Command, act: Act): void {
  const edit = jobOptions(cron.command("edit").description("change a job").argument("<id>"))
    .option("--enable", "switch it on")
    .option("--disable", "switch it off")
    .option("--clear <field>", `remove a field: ${CLEARABLE.join(", ")}`, collect)
    .option("--json", "for scripts");
  for (const field of CLEARABLE) edit.addOption(new Option(`--clear-${field}`, `as --clear ${field}`).hideHelp());
  edit.action(
    act(async (io, id: string, flags: EditFlags) => (await import("../commands/cron/cron.ts")).cronEdit(io, id, flags)),
  );
}

function defineSwitches(cron: Command, act: Act): void {
  for (const [name, enabled] of [["enable", true] as const, ["disable", false] as const]) {
    cron
      .command(name)
      .description(`switch a job ${enabled ? "on" : "off"}`)
      .argument("<id>")
      .option("--json", "for scripts")
      .action(
        act(async (io, id: string, flags: Json) =>
          (await import("../commands/cron/cron.ts")).cronSwitch(io, id, { ...flags, enabled }),
        ),
      );
  }
  cron
    .command("rm")
    .alias("remove")
    .description("remove a job; its records stay")
    .argument("<id>")
    .option("--json", "for scripts")
    .action(
      act(async (io, id: string, flags: Json) => (await import("../commands/cron/cron.ts")).cronRemove(io, id, flags)),
    );
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
    .action(
      act(async (io, id: string, flags: RunFlags) => (await import("../commands/cron/cron.ts")).cronRun(io, id, flags)),
    );
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
    .action(act(async (io, flags: ListFlags) => (await import("../commands/cron/cron.ts")).cronList(io, flags)));
  cron
    .command("status")
    .description("show whether jobs run, how many there are, and when the next is due")
    .option("--json", "for scripts")
    .action(act(async (io, flags: Json) => (await import("../commands/cron/cron.ts")).cronStatus(io, flags)));
  cron
    .command("show")
    .alias("get")
    .description("show a job: its next times, where it reports, and how it went")
    .argument("<id>")
    .option("--json", "for scripts")
    .action(
      act(async (io, id: string, flags: Json) => (await import("../commands/cron/cron.ts")).cronShow(io, id, flags)),
    );
  cron
    .command("runs")
    .description("show how jobs went, the latest first")
    .option("--id <job>", "only of this job")
    .option("--run-id <id>", "only this run")
    .option("--agent <id>", "only of jobs of an agent")
    .option("--status <status>", "ok, error or skipped")
    .option("--limit <n>", "how many", "20")
    .option("--json", "for scripts")
    .action(act(async (io, flags: RunsFlags) => (await import("../commands/cron/cron.ts")).cronRuns(io, flags)));
}

/** What `add` and `edit` say of a job. */
const jobOptions = (command: Command): Command => placeOptions(whatOptions(whenOptions(command)));

function whenOptions(command: Command): Command {
  return command
    .option("--name <name>", "how it is called")
    .option("--description <text>", "what it is for")
    .option("--at <when>", "once: 20m, or a time such as 2026-12-24T18:00 (UTC without --tz)")
    .option("--every <duration>", "again and again: 30m, 2h, 1d")
    .option("--cron <expr>", "five fields, or six with seconds first")
    .option("--on-exit <command>", "once, when this command ends, which is started now")
    .option("--on-exit-cwd <dir>", "directory of that command")
    .option("--stream-command <json>", "whenever this command, a list of program and arguments, has written lines")
    .option("--stream-cwd <dir>", "directory of that command")
    .option("--stream-match <regex>", "only lines that fit")
    .addOption(new Option("--stream-mode <mode>", "match with --stream-match, else line").hideHelp())
    .option("--stream-batch-ms <n>", "lines that come so soon after each other are one batch (250)")
    .option("--stream-max-batch-bytes <n>", "most bytes of a batch (16384)")
    .option("--tz <iana>", "time zone of --at and --cron")
    .option("--stagger <duration>", "spread over so much time after each time of --cron")
    .option("--exact", "exactly at the times of --cron")
    .option("--pacing-min <duration>", "each run may say when the next comes: at the earliest so long after it")
    .option("--pacing-max <duration>", "and at the latest so long after it")
    .addOption(
      new Option("--missed <policy>", "slots that passed while the gateway was off").choices(["skip", "once", "all"]),
    );
}

function whatOptions(command: Command): Command {
  return command
    .option("--message <text>", "what the agent is to do, in a run of its own")
    .option("--system-event <text>", "what the agent is told in its main conversation")
    .option("--command <text>", "a command for the shell, which is run without asking a model")
    .option("--command-argv <json>", "the same as a list of program and arguments, without a shell")
    .option("--command-cwd <dir>", "directory of the command; the workspace unless given")
    .option("--command-env <name=value>", "a variable of the command; may be given several times", collect)
    .option("--command-input <text>", "what the command reads")
    .option("--output-max-bytes <n>", "most bytes of the command's output that are delivered")
    .option("--session <target>", "main, isolated or session:<key>")
    .option("--session-key <key>", "the conversation that it belongs to")
    .addOption(new Option("--wake <mode>", "when a --system-event is told").choices(["now", "next-heartbeat"]))
    .option("--agent <id>", "which agent")
    .option("--model <model>", "provider/model of the run")
    .option("--fallbacks <list>", "models that are asked after --model")
    .option("--thinking <level>", "off, minimal, low, medium, high, xhigh")
    .option("--timeout-seconds <n>", "most seconds of the run; 0 for no limit")
    .option("--tools <list>", "the only tools of the run, names and groups; * for all")
    .option("--light-context", "without the files of the workspace (the default of a run of its own)")
    .option("--no-light-context", "with the files of the workspace");
}

function placeOptions(command: Command): Command {
  return command
    .option("--announce", "send the answer to a chat (the default of a run of its own)")
    .addOption(new Option("--deliver", "old name of --announce").hideHelp())
    .addOption(new Option("--expect-final", "the command waits for the gateway's answer in any case").hideHelp())
    .option("--no-deliver", "keep the answer in the transcript")
    .option("--webhook <url>", "send the record of each run to this address")
    .option("--channel <channel>", "channel of the chat, or last")
    .option("--to <dest>", "the chat")
    .option("--thread-id <id>", "topic or thread of the chat")
    .option("--account <id>", "account of the channel")
    .option("--best-effort-deliver", "a failed delivery does not fail the job")
    .option("--delete-after-run", "remove it after it succeeded (the default with --at)")
    .option("--keep-after-run", "keep it after it succeeded")
    .option("--failure-alert", "tell about failures (the default)")
    .option("--no-failure-alert", "tell nobody about failures")
    .option("--failure-alert-after <n>", "failures in a row before the first alert")
    .option("--failure-alert-cooldown <duration>", "time between two alerts")
    .option("--failure-alert-channel <channel>", "channel of the alert")
    .option("--failure-alert-to <dest>", "chat of the alert, or address of a webhook")
    .addOption(new Option("--failure-alert-mode <mode>", "how the alert goes").choices(["announce", "webhook"]))
    .option("--failure-alert-account-id <id>", "account that sends the alert")
    .option("--failure-alert-include-skipped", "skipped runs count as failures");
}
