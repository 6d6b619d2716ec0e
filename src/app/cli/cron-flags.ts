import type { CronAlert, CronOnExit, CronPayload, CronSchedule, CronStream, CronWish } from "../../types/cron/job.ts";

type KeyOf<T> = T extends unknown ? keyof T & string : never;
type Below<Head extends string, T> = `${Head}.${KeyOf<NonNullable<T>>}`;

/** A field of a job, or a field below it. `onExit` and `stream` are schedules. */
type Place =
  | KeyOf<CronWish>
  | Below<"schedule", CronSchedule>
  | Below<"onExit", CronOnExit>
  | Below<"stream", CronStream>
  | Below<"payload", CronPayload>
  | Below<"delivery", CronWish["delivery"]>
  | Below<"failureAlert", CronAlert>
  | Below<"pacing", CronWish["pacing"]>;

/** Form of a flag's text. `shell`: one text for the shell. `pairs`: NAME=VALUE, and the flag may be given several times. */
type Reading = "number" | "duration" | "list" | "json" | "pairs" | "shell";

/** A flag of a job. `place`: the field of its value; unset for flags that change the meaning of others. */
type JobFlag = readonly [
  flag: string,
  text: string,
  place?: Place | undefined,
  how?: Reading | readonly string[] | "hidden",
];

/** The flags of `cron add` and `cron edit` for the fields of a job, in the order of their help. */
export const JOB_FLAGS: readonly JobFlag[] = [
  ["--name <name>", "how it is called", "name"],
  ["--description <text>", "what it is for", "description"],
  ["--at <when>", "once: 20m, or a time such as 2026-12-24T18:00 (UTC without --tz)", "schedule.at"],
  ["--every <duration>", "again and again: 30m, 2h, 1d", "schedule.everyMs", "duration"],
  ["--cron <expr>", "five fields, or six with seconds first", "schedule.expr"],
  ["--on-exit <command>", "once, when this command ends, which is started now", "onExit.command"],
  ["--on-exit-cwd <dir>", "directory of that command", "onExit.cwd"],
  [
    "--stream-command <json>",
    "whenever this command, a list of program and arguments, has written lines",
    "stream.command",
    "json",
  ],
  ["--stream-cwd <dir>", "directory of that command", "stream.cwd"],
  ["--stream-match <regex>", "only lines that fit", "stream.match"],
  ["--stream-mode <mode>", "match with --stream-match, else line", undefined, "hidden"],
  ["--stream-batch-ms <n>", "lines that come so soon after each other are one batch (250)", "stream.batchMs", "number"],
  ["--stream-max-batch-bytes <n>", "most bytes of a batch (16384)", "stream.maxBatchBytes", "number"],
  ["--tz <iana>", "time zone of --at and --cron", "schedule.tz"],
  ["--stagger <duration>", "spread over so much time after each time of --cron", "schedule.staggerMs", "duration"],
  ["--exact", "exactly at the times of --cron"],
  ["--pacing-min <duration>", "each run may say when the next comes: at the earliest so long after it", "pacing.min"],
  ["--pacing-max <duration>", "and at the latest so long after it", "pacing.max"],
  ["--missed <policy>", "slots that passed while the gateway was off", "missed", ["skip", "once", "all"]],
  ["--message <text>", "what the agent is to do, in a run of its own", "payload.message"],
  ["--system-event <text>", "what the agent is told in its main conversation", "payload.text"],
  ["--command <text>", "a command for the shell, which is run without asking a model", "payload.argv", "shell"],
  ["--command-argv <json>", "the same as a list of program and arguments, without a shell", "payload.argv", "json"],
  ["--command-cwd <dir>", "directory of the command; the workspace unless given", "payload.cwd"],
  ["--command-env <name=value>", "a variable of the command; may be given several times", "payload.env", "pairs"],
  ["--command-input <text>", "what the command reads", "payload.input"],
  [
    "--output-max-bytes <n>",
    "most bytes of the command's output that are delivered",
    "payload.outputMaxBytes",
    "number",
  ],
  ["--session <target>", "main, isolated or session:<key>", "sessionTarget"],
  ["--session-key <key>", "the conversation that it belongs to", "sessionKey"],
  ["--wake <mode>", "when a --system-event is told", "wakeMode", ["now", "next-heartbeat"]],
  ["--agent <id>", "which agent", "agentId"],
  ["--model <model>", "provider/model of the run", "payload.model"],
  ["--fallbacks <list>", "models that are asked after --model", "payload.fallbacks", "list"],
  ["--thinking <level>", "off, minimal, low, medium, high, xhigh", "payload.thinking"],
  ["--timeout-seconds <n>", "most seconds of the run; 0 for no limit", "payload.timeoutSeconds", "number"],
  ["--tools <list>", "the only tools of the run, names and groups; * for all", "payload.toolsAllow", "list"],
  ["--light-context", "without the files of the workspace (the default of a run of its own)", "payload.lightContext"],
  ["--no-light-context", "with the files of the workspace", "payload.lightContext"],
  ["--announce", "send the answer to a chat (the default of a run of its own)"],
  ["--deliver", "old name of --announce", undefined, "hidden"],
  ["--expect-final", "the command waits for the gateway's answer in any case", undefined, "hidden"],
  ["--no-deliver", "keep the answer in the transcript"],
  ["--webhook <url>", "send the record of each run to this address"],
  ["--channel <channel>", "channel of the chat, or last", "delivery.channel"],
  ["--to <dest>", "the chat", "delivery.to"],
  ["--thread-id <id>", "topic or thread of the chat", "delivery.threadId"],
  ["--account <id>", "account of the channel", "delivery.accountId"],
  ["--best-effort-deliver", "a failed delivery does not fail the job", "delivery.bestEffort"],
  ["--delete-after-run", "remove it after it succeeded (the default with --at)", "deleteAfterRun"],
  ["--keep-after-run", "keep it after it succeeded"],
  ["--failure-alert", "tell about failures (the default)"],
  ["--no-failure-alert", "tell nobody about failures"],
  ["--failure-alert-after <n>", "failures in a row before the first alert", "failureAlert.after", "number"],
  ["--failure-alert-cooldown <duration>", "time between two alerts", "failureAlert.cooldownMs", "duration"],
  ["--failure-alert-channel <channel>", "channel of the alert", "failureAlert.channel"],
  ["--failure-alert-to <dest>", "chat of the alert, or address of a webhook", "failureAlert.to"],
  ["--failure-alert-mode <mode>", "how the alert goes", "failureAlert.mode", ["announce", "webhook"]],
  ["--failure-alert-account-id <id>", "account that sends the alert", "failureAlert.accountId"],
  ["--failure-alert-include-skipped", "skipped runs count as failures", "failureAlert.includeSkipped"],
];

/** Fields that `cron edit` removes, by the names of their flags. */
export const CLEARABLE: Readonly<Record<string, Place>> = {
  agent: "agentId",
  model: "payload.model",
  thinking: "payload.thinking",
  fallbacks: "payload.fallbacks",
  tools: "payload.toolsAllow",
  pacing: "pacing",
  channel: "delivery.channel",
  to: "delivery.to",
  "thread-id": "delivery.threadId",
  account: "delivery.accountId",
};

type FlagValue = string | boolean | readonly string[] | undefined;

/** The flags as they were given, in camel case. */
export interface GivenFlags {
  readonly [flag: string]: FlagValue;
  readonly json?: boolean;
  readonly clear?: readonly string[];
}
