import type { z } from "zod";
import { whatOf } from "../../../../automation/cron/list.ts";
import { cronAnswers, type CronAnswers, type CronJobView, type CronRunView } from "../../../../types/cron/answers.ts";
import { readDuration } from "../../../../utils/time/duration.ts";
import { defined } from "../../../../utils/defined.ts";
import { pause } from "../../../../utils/pause.ts";
import { systemClock } from "../../../../types/clock.ts";
import { callOnce } from "../../call-gateway.ts";
import { writeJson, type Io } from "../../io.ts";
import { readState } from "../../state.ts";
import { CLEARABLE, JOB_FLAGS, type GivenFlags } from "../../cron-flags.ts";
import { shellText } from "../../../../automation/cron/command/command-call.ts";
import { pairs, table } from "../../table.ts";
import { showMs, localTime } from "../runs/run-figures.ts";
import { readTime } from "../../../../automation/cron/reading/local-time.ts";
import { isFields, type Fields } from "../../../../utils/fields.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import { OpenClawError } from "../../../../types/errors.ts";

/** A flag that cannot be used as it was given. */
const wrongFlag = (message: string): OpenClawError =>
  new OpenClawError("USAGE", { message: `${message}.`, fix: "See `openclaw cron add --help`." });

/** The fields of a job that the flags name. Throws a usage error for values that cannot be read here. */
function jobOf(flags: GivenFlags, now: number): Record<string, unknown> {
  atMostOne(flags, ["at", "every", "cron", "on-exit", "stream-command"]);
  atMostOne(flags, ["message", "system-event", "command", "command-argv"]);
  const placed: Record<string, unknown> = {};
  for (const [flag, , place, how] of JOB_FLAGS) {
    const [name = ""] = flag.replace("--no-", "--").split(" ");
    const value = flags[attributeOf(name)];
    if (place !== undefined && value !== undefined) put(placed, place, valueOf(name, value, how));
  }
  const { schedule, onExit, stream, payload, delivery, failureAlert, ...job } = placed;
  return defined({
    ...job,
    ...(flags["keepAfterRun"] === true && { deleteAfterRun: false }),
    schedule: watchOf(fieldsIn(onExit), fieldsIn(stream)) ?? scheduleOf(fieldsIn(schedule), flags, now),
    payload: payloadOf(fieldsIn(payload)),
    delivery: deliveryOf(fieldsIn(delivery), flags),
    failureAlert: flags["failureAlert"] === true ? fieldsIn(failureAlert) : (flags["failureAlert"] ?? failureAlert),
  });
}

/** The name under which the parser of the command line has the value of a flag. */
const attributeOf = (flag: string): string =>
  flag.replace("--", "").replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

function atMostOne(flags: GivenFlags, names: readonly string[]): void {
  if (names.filter((name) => flags[attributeOf(name)] !== undefined).length < 2) return;
  const all = names.map((name) => `--${name}`);
  throw wrongFlag(`give one of ${all.slice(0, -1).join(", ")} and ${all.at(-1)}`);
}

function put(job: Record<string, unknown>, place: string, value: unknown): void {
  const [head = "", field] = place.split(".");
  job[head] = field === undefined ? value : { ...fieldsIn(job[head]), [field]: value };
}

const fieldsIn = (value: unknown): Fields => (isFields(value) ? value : {});

function valueOf(flag: string, value: GivenFlags[string], how: (typeof JOB_FLAGS)[number][3]): unknown {
  if (Array.isArray(value)) return Object.fromEntries(value.map((pair) => pairOf(flag, String(pair))));
  const read = typeof how === "string" ? READ[how] : undefined;
  return typeof value === "string" && read ? read(value, flag) : value;
}

const READ: Readonly<Record<string, (text: string, flag: string) => unknown>> = {
  shell: (text) => ["sh", "-lc", text],
  list: (text) => text.split(",").flatMap((one) => one.trim() || []),
  json(text, flag) {
    try {
      return JSON.parse(text);
    } catch {
      throw wrongFlag(`${flag}: write a list of JSON, such as ["git", "fetch"]`);
    }
  },
  duration(text, flag) {
    const ms = readDuration(text);
    if (ms === undefined) throw wrongFlag(`${flag}: write it as 30m or 2h`);
    return ms;
  },
  number(text, flag) {
    const value = Number(text);
    if (text.trim() === "" || !Number.isFinite(value) || value < 0) throw wrongFlag(`${flag}: write a number`);
    return value;
  },
};

function pairOf(flag: string, pair: string): readonly [string, string] {
  const at = pair.indexOf("=");
  if (at < 1) throw wrongFlag(`${flag}: write NAME=VALUE`);
  return [pair.slice(0, at), pair.slice(at + 1)];
}

function watchOf(onExit: Fields, stream: Fields): Fields | undefined {
  if (onExit["command"] !== undefined) return { kind: "on-exit", ...onExit };
  if (stream["command"] === undefined) return undefined;
  return { kind: "stream", ...(stream["match"] !== undefined && { mode: "match" }), ...stream };
}

function scheduleOf({ at, everyMs, expr, tz, staggerMs }: Fields, flags: GivenFlags, now: number): Fields | undefined {
  if (typeof at === "string") return { kind: "at", at: timeOf(at, typeof tz === "string" ? tz : "UTC", now) };
  if (everyMs !== undefined) return { kind: "every", everyMs };
  if (expr === undefined) return tz === undefined ? undefined : { tz };
  return defined({ kind: "cron", expr, tz, staggerMs: flags["exact"] === true ? 0 : staggerMs });
}

function timeOf(text: string, tz: string, now: number): string {
  const span = /^\d[\dhmsd.]*$/.test(text.trim()) ? readDuration(text) : undefined;
  if (span !== undefined) return new Date(now + span).toISOString();
  try {
    return new Date(readTime(text, tz)).toISOString();
  } catch (error) {
    throw wrongFlag(`--at: ${errorText(error)}`);
  }
}

function payloadOf(given: Fields): Fields | undefined {
  const { text, message, argv, toolsAllow } = given;
  if (text !== undefined) return defined({ kind: "systemEvent", text, toolsAllow });
  if (message !== undefined) return { kind: "agentTurn", ...given };
  if (argv !== undefined) return { kind: "command", ...given };
  return Object.keys(given).length === 0 ? undefined : given;
}

function deliveryOf(named: Fields, flags: GivenFlags): Fields | undefined {
  const { webhook, announce, deliver } = flags;
  if (webhook !== undefined) return defined({ mode: "webhook", to: webhook, bestEffort: named["bestEffort"] });
  if (deliver === false) return { ...named, mode: "none" };
  if (announce === true || deliver === true || named["to"] !== undefined || named["channel"] !== undefined)
    return { mode: "announce", ...named };
  return Object.keys(named).length === 0 ? undefined : named;
}

/** A patch for the flags of `edit`. */
function patchOf(flags: GivenFlags, now: number): Record<string, unknown> {
  const patch = jobOf(flags, now);
  const named = Object.keys(CLEARABLE).filter((name) => flags[attributeOf(`clear-${name}`)] === true);
  for (const name of [...(flags.clear ?? []), ...named]) {
    const place = CLEARABLE[name];
    if (place === undefined) throw wrongFlag(`--clear: "${name}" is none of ${Object.keys(CLEARABLE).join(", ")}`);
    put(patch, place, null);
  }
  if (flags["enable"] === true) patch["enabled"] = true;
  if (flags["disable"] === true) patch["enabled"] = false;
  if (Object.keys(patch).length === 0) throw wrongFlag("say what is to be changed");
  return patch;
}

interface Json {
  readonly json?: boolean;
}

export interface CronListFlags extends Json {
  readonly all?: boolean;
  readonly query?: string;
  readonly agent?: string;
}

export interface RunsFlags extends Json {
  readonly id?: string;
  readonly runId?: string;
  readonly agent?: string;
  readonly status?: string;
  readonly limit: string;
}

interface WaitFlags extends Json {
  readonly wait?: boolean;
  readonly waitTimeout: string;
  readonly pollInterval: string;
}

export interface CronRunFlags extends WaitFlags {
  readonly due?: boolean;
  readonly force?: boolean;
}

/** Writes an answer, as JSON where it is wanted. */
function tell(io: Io, { json }: Json, answer: unknown, text: () => string): number {
  if (json === true) writeJson(io, answer);
  else io.out(text());
  return 0;
}

/** A table of jobs. */
const jobsText = (io: Io, jobs: readonly CronJobView[]): string =>
  jobs.length === 0
    ? "No scheduled jobs. `openclaw cron add --help` shows how to add one.\n"
    : table(io, ["ID", "NAME", "WHEN", "NEXT", "LAST"], jobs.map(cells));

function cells({ id, name, enabled, schedule, state }: CronJobView): readonly string[] {
  const next = state.nextRunAtMs === undefined ? "-" : localTime(state.nextRunAtMs);
  return [id, name, scheduleText(schedule), enabled ? next : offText(state), lastText(state)];
}

const offText = ({ autoDisabled, consecutiveErrors }: CronJobView["state"]): string =>
  autoDisabled ? `off: failed ${consecutiveErrors} times` : "off";

function lastText({ runningAtMs, lastRunStatus, lastRunAtMs, lastError }: CronJobView["state"]): string {
  if (runningAtMs !== undefined) return `running since ${localTime(runningAtMs)}`;
  if (lastRunStatus === undefined || lastRunAtMs === undefined) return "-";
  const why = lastRunStatus === "error" && lastError !== undefined ? `: ${lastError.slice(0, 80)}` : "";
  return `${lastRunStatus} ${localTime(lastRunAtMs)}${why}`;
}

function scheduleText(schedule: CronJobView["schedule"]): string {
  switch (schedule.kind) {
    case "at":
      return `once ${localTime(Date.parse(schedule.at))}`;
    case "every":
      return `every ${showMs(schedule.everyMs)}`;
    case "cron":
      return `${schedule.expr} (${schedule.tz})`;
    case "on-exit":
      return `when this ends: ${schedule.command}`;
    case "stream":
      return `for lines of: ${shellText(schedule.command)}`;
  }
}

/** True for a job that a command begins; it has no times. */
const isWatched = ({ kind }: CronJobView["schedule"]): boolean => kind === "on-exit" || kind === "stream";

/** One job with its next times, its costs and the place where it reports. */
function jobText(io: Io, job: CronJobView, preview: CronAnswers["preview"]): string {
  const { nextRunsAtMs, runsPerMonth, costPerRunUsd, place } = preview;
  const { id, name, enabled, schedule, payload, sessionTarget, delivery, state } = job;
  const cost =
    costPerRunUsd === undefined
      ? "unknown before its first run"
      : `about $${(costPerRunUsd * runsPerMonth).toFixed(2)}`;
  return pairs(io, [
    ["id", id],
    ["name", name],
    ["when", scheduleText(schedule)],
    ["next", enabled ? nextText(job, nextRunsAtMs) : offText(state)],
    ["what", `${payload.kind === "command" ? "$ " : ""}${whatOf(payload)}`],
    ["model", payload.kind === "agentTurn" ? payload.model : undefined],
    ["where", `${sessionTarget} (${place.sessionKey})`],
    ["reports to", reportText(delivery, place)],
    ["a month", isWatched(schedule) ? undefined : monthText(payload.kind, runsPerMonth, cost)],
    ["last", lastText(state)],
  ]);
}

function nextText({ schedule }: CronJobView, nextRunsAtMs: readonly number[]): string {
  if (isWatched(schedule)) return "when it happens";
  return nextRunsAtMs.map(localTime).join(", ") || "never";
}

function monthText(kind: string, count: number, cost: string): string {
  if (kind === "agentTurn") return `${count} runs, ${cost}`;
  return kind === "command" ? `${count} runs without a model` : `${count} reminders`;
}

function reportText(delivery: CronJobView["delivery"], { to, problem }: CronAnswers["preview"]["place"]): string {
  if (problem !== undefined) return `nobody: ${problem}`;
  if (delivery?.mode === "webhook") return delivery.to ?? "a webhook";
  return to ? `${to.channel}:${to.chat.id}` : "nobody; the answer stays in the transcript";
}

/** A table of records. */
const runsText = (io: Io, runs: readonly CronRunView[]): string =>
  runs.length === 0
    ? "No job has run yet.\n"
    : table(io, ["ENDED", "JOB", "STATUS", "DELIVERY", "TOOK", "RUN", "WHAT CAME OF IT"], runs.map(runCells));

const runCells = (run: CronRunView): readonly string[] => [
  localTime(run.ts),
  run.jobName ?? run.jobId,
  run.status,
  deliveryText(run),
  run.durationMs === undefined ? "-" : showMs(run.durationMs),
  run.runId ?? "-",
  (run.error ?? run.summary ?? "").slice(0, 100),
];

/** A run that failed has no answer to deliver; that it failed may have been told all the same. */
const deliveryText = ({ status, deliveryStatus, deliveryError }: CronRunView): string =>
  status === "error" && deliveryStatus === "not-delivered" && deliveryError === undefined
    ? "no answer"
    : deliveryStatus;

const PAGE = 200;
/** Ctrl-C ends the command by itself. */
const NEVER = new AbortController().signal;

const SHAPES: { readonly [Name in keyof CronAnswers]: z.ZodType<CronAnswers[Name]> } = cronAnswers;

/** Calls `cron.<name>`. */
async function ask<Name extends keyof CronAnswers>(io: Io, name: Name, params: object): Promise<CronAnswers[Name]> {
  return callOnce(io, await readState(io), { method: `cron.${name}`, params, shape: SHAPES[name] });
}

/** Lists the jobs. Throws GATEWAY_UNREACHABLE, as all of these do. */
export async function cronList(io: Io, { all, query, agent, ...flags }: CronListFlags): Promise<number> {
  const jobs: CronJobView[] = [];
  for (let offset: number | null = 0; offset !== null;) {
    const params = defined({ enabled: all === true ? "all" : "enabled", query, agentId: agent, limit: PAGE, offset });
    const answer: CronAnswers["list"] = await ask(io, "list", params);
    jobs.push(...answer.jobs);
    offset = answer.nextOffset;
  }
  return tell(io, flags, { jobs }, () => jobsText(io, jobs));
}

export async function cronStatus(io: Io, flags: Json): Promise<number> {
  const status = await ask(io, "status", {});
  const { enabled, jobs, running, nextWakeAtMs } = status;
  const off = enabled ? "" : "Scheduled jobs are switched off: cron.enabled, or OPENCLAW_SKIP_CRON.\n";
  const next = nextWakeAtMs === undefined ? "none" : localTime(nextWakeAtMs);
  return tell(io, flags, status, () => `${off}${jobs} jobs, ${running} running. Next: ${next}.\n`);
}

export const cronShow = async (io: Io, id: string, flags: Json): Promise<number> =>
  show(io, await ask(io, "get", { id }), flags);

async function show(io: Io, job: CronJobView, flags: Json): Promise<number> {
  const preview = await ask(io, "preview", { id: job.id });
  return tell(io, flags, { ...job, preview }, () => jobText(io, job, preview));
}

export async function cronAdd(
  io: Io,
  { schedule, message }: { readonly schedule: string | undefined; readonly message: string | undefined },
  flags: GivenFlags,
): Promise<number> {
  const now = Date.now();
  const all = { ...whenOf(schedule), ...defined({ message }), ...flags };
  const job = jobOf(all, now);
  if (job["schedule"] === undefined) throw wrongFlag("say when: --at, --every, --cron, --on-exit or --stream-command");
  if (job["payload"] === undefined) throw wrongFlag("say what: --message, --system-event or --command");
  const added = await ask(io, "add", { ...job, ...(flags["disabled"] === true && { enabled: false }) });
  const code = await show(io, added, flags);
  if (flags.json !== true && (added.payload.kind === "command" || isWatched(added.schedule))) io.err(rulesText(added));
  return code;
}

/** The rights of the command are decided when it runs, by the operator's files at that time. */
const rulesText = ({ id, schedule }: CronJobView): string =>
  "The command has the rules of the agent's commands, and nobody is asked about it: openclaw approvals allowlist add <program> allows one. " +
  `See whether it runs: ${isWatched(schedule) ? `openclaw cron show ${id}` : `openclaw cron run ${id} --wait`}\n`;

/** A schedule that is written without its flag. */
function whenOf(schedule: string | undefined): GivenFlags {
  if (schedule === undefined) return {};
  if (/^@\w+$/.test(schedule) || /^\S+(\s+\S+){4,5}$/.test(schedule)) return { cron: schedule };
  return { at: schedule };
}

export async function cronEdit(io: Io, id: string, flags: GivenFlags): Promise<number> {
  const patch = patchOf(flags, Date.now());
  return show(io, await ask(io, "update", { id, patch }), flags);
}

export async function cronSwitch(io: Io, id: string, flags: Json & { enabled: boolean }): Promise<number> {
  const job = await ask(io, "update", { id, patch: { enabled: flags.enabled } });
  return tell(io, flags, job, () => `"${job.name}" is switched ${flags.enabled ? "on" : "off"}.\n`);
}

export const cronRemove = async (io: Io, id: string, flags: Json): Promise<number> =>
  tell(io, flags, await ask(io, "remove", { id }), () => `Removed ${id}.\n`);

const REASONS: Readonly<Record<string, string>> = {
  "not-due": "It is not due.",
  "already-running": "It is running already.",
  disabled: "It is switched off.",
};

export async function runCronJob(io: Io, id: string, flags: CronRunFlags): Promise<number> {
  const mode = flags.due === true ? "due" : "force";
  const begun = await ask(io, "run", { id, mode });
  if (begun.runId === undefined) {
    tell(io, flags, begun, () => `${REASONS[begun.reason ?? ""] ?? begun.reason}\n`);
    return 1;
  }
  if (flags.wait === true) return waitFor(io, { id, runId: begun.runId }, flags);
  return tell(io, flags, begun, () => `It runs now: openclaw cron runs --run-id ${begun.runId}\n`);
}

async function waitFor(
  io: Io,
  which: { readonly id: string; readonly runId: string },
  flags: CronRunFlags,
): Promise<number> {
  const until = Date.now() + duration("--wait-timeout", flags.waitTimeout);
  const every = duration("--poll-interval", flags.pollInterval);
  for (;;) {
    const { entries } = await ask(io, "runs", { ...which, limit: 1 });
    const [run] = entries;
    if (run) {
      tell(io, flags, run, () => runsText(io, [run]));
      return run.status === "ok" && run.completionStatus !== "failed" ? 0 : 1;
    }
    if (Date.now() >= until) {
      io.err(`It is still running: openclaw cron runs --run-id ${which.runId}\n`);
      return 1;
    }
    await pause(every, { clock: systemClock, signal: NEVER });
  }
}

function duration(flag: string, text: string): number {
  const ms = readDuration(text);
  if (ms === undefined) throw wrongFlag(`${flag}: write it as 10m or 2s`);
  return ms;
}

export async function cronRuns(io: Io, { id, runId, agent, status, limit, ...flags }: RunsFlags): Promise<number> {
  const params = defined({ id, runId, agentId: agent, status, limit: Number(limit) });
  const { entries } = await ask(io, "runs", params);
  return tell(io, flags, { entries }, () => runsText(io, entries));
}
