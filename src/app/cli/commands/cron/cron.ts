import { z } from "zod";
import { readDuration } from "../../../../utils/time/duration.ts";
import { defined } from "../../../../utils/defined.ts";
import { pause } from "../../../../utils/pause.ts";
import { systemClock } from "../../../../types/clock.ts";
import { callOnce } from "../../call-gateway.ts";
import { writeJson, type Io } from "../../io.ts";
import { readState } from "../../state.ts";
import { type EditFlags, type JobFlags, jobOf, patchOf, wrongFlag } from "./job-flags.ts";
import { shellText } from "../../../../automation/cron/command/command-call.ts";
import { pairs, table } from "../../table.ts";
import { showMs, timeOf } from "../runs/run-figures.ts";

interface Json {
  readonly json?: boolean;
}

export interface ListFlags extends Json {
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

export interface RunFlags extends WaitFlags {
  readonly due?: boolean;
  readonly force?: boolean;
}

const scheduleShape = z.looseObject({
  kind: z.string(),
  at: z.string().optional(),
  everyMs: z.number().optional(),
  expr: z.string().optional(),
  tz: z.string().optional(),
  command: z.union([z.string(), z.array(z.string())]).optional(),
});

const stateShape = z.looseObject({
  nextRunAtMs: z.number().optional(),
  runningAtMs: z.number().optional(),
  lastRunAtMs: z.number().optional(),
  lastRunStatus: z.string().optional(),
  lastError: z.string().optional(),
  consecutiveErrors: z.number().optional(),
  autoDisabled: z.looseObject({ reason: z.string() }).optional(),
});

/** A job as the gateway shows it. */
const jobShape = z.looseObject({
  id: z.string(),
  name: z.string(),
  enabled: z.boolean(),
  agentId: z.string().optional(),
  schedule: scheduleShape,
  sessionTarget: z.string(),
  payload: z.looseObject({
    kind: z.string(),
    text: z.string().optional(),
    message: z.string().optional(),
    argv: z.array(z.string()).optional(),
    model: z.string().optional(),
  }),
  delivery: z.looseObject({ mode: z.string(), to: z.string().optional() }).optional(),
  state: stateShape,
});

const previewShape = z.looseObject({
  nextRunsAtMs: z.array(z.number()),
  runsPerMonth: z.number(),
  costPerRunUsd: z.number().optional(),
  place: z.looseObject({
    sessionKey: z.string(),
    to: z.looseObject({ channel: z.string(), chat: z.looseObject({ id: z.string() }) }).optional(),
    problem: z.string().optional(),
  }),
});

const runShape = z.looseObject({
  ts: z.number(),
  jobId: z.string(),
  jobName: z.string().optional(),
  status: z.string(),
  completionStatus: z.string().optional(),
  deliveryStatus: z.string(),
  deliveryError: z.string().optional(),
  summary: z.string().optional(),
  error: z.string().optional(),
  runId: z.string().optional(),
  durationMs: z.number().optional(),
});

type Job = z.output<typeof jobShape>;
type Run = z.output<typeof runShape>;

/** A table of jobs. */
function showJobs(io: Io, jobs: readonly Job[]): void {
  if (jobs.length === 0) io.out("No scheduled jobs. `openclaw cron add --help` shows how to add one.\n");
  else io.out(table(io, ["ID", "NAME", "WHEN", "NEXT", "LAST"], jobs.map(cells)));
}

function cells({ id, name, enabled, schedule, state }: Job): readonly string[] {
  const next = state.nextRunAtMs === undefined ? "-" : timeOf(state.nextRunAtMs);
  return [id, name, scheduleText(schedule), enabled ? next : offText(state), lastText(state)];
}

const offText = ({ autoDisabled, consecutiveErrors }: Job["state"]): string =>
  autoDisabled ? `off: failed ${consecutiveErrors} times` : "off";

function lastText({ runningAtMs, lastRunStatus, lastRunAtMs, lastError }: Job["state"]): string {
  if (runningAtMs !== undefined) return `running since ${timeOf(runningAtMs)}`;
  if (lastRunStatus === undefined || lastRunAtMs === undefined) return "-";
  const why = lastRunStatus === "error" && lastError !== undefined ? `: ${lastError.slice(0, 80)}` : "";
  return `${lastRunStatus} ${timeOf(lastRunAtMs)}${why}`;
}

function scheduleText({ kind, at, everyMs, expr, tz, command }: Job["schedule"]): string {
  if (typeof command === "string") return `when this ends: ${command}`;
  if (command !== undefined) return `for lines of: ${shellText(command)}`;
  if (kind === "at" && at !== undefined) return `once ${timeOf(Date.parse(at))}`;
  if (kind === "every" && everyMs !== undefined) return `every ${showMs(everyMs)}`;
  return `${expr ?? kind}${tz === undefined ? "" : ` (${tz})`}`;
}

/** One job with its next times, its costs and the place where it reports. */
function showJob(
  io: Io,
  job: Job,
  { nextRunsAtMs, runsPerMonth, costPerRunUsd, place }: z.output<typeof previewShape>,
): void {
  const { id, name, enabled, schedule, payload, sessionTarget, delivery, state } = job;
  const cost =
    costPerRunUsd === undefined
      ? "unknown before its first run"
      : `about $${(costPerRunUsd * runsPerMonth).toFixed(2)}`;
  io.out(
    pairs(io, [
      ["id", id],
      ["name", name],
      ["when", scheduleText(schedule)],
      ["next", enabled ? nextText(job, nextRunsAtMs) : offText(state)],
      ["what", payload.argv ? `$ ${shellText(payload.argv)}` : (payload.message ?? payload.text)],
      ["model", payload.model],
      ["where", `${sessionTarget} (${place.sessionKey})`],
      ["reports to", reportText(delivery, place)],
      ["a month", schedule.command === undefined ? monthText(payload.kind, runsPerMonth, cost) : undefined],
      ["last", lastText(state)],
    ]),
  );
}

function nextText({ schedule }: Job, nextRunsAtMs: readonly number[]): string {
  if (schedule.command !== undefined) return "when it happens";
  return nextRunsAtMs.map(timeOf).join(", ") || "never";
}

function monthText(kind: string, count: number, cost: string): string {
  if (kind === "agentTurn") return `${count} runs, ${cost}`;
  return kind === "command" ? `${count} runs without a model` : `${count} reminders`;
}

function reportText(delivery: Job["delivery"], { to, problem }: z.output<typeof previewShape>["place"]): string {
  if (problem !== undefined) return `nobody: ${problem}`;
  if (delivery?.mode === "webhook") return delivery.to ?? "a webhook";
  return to ? `${to.channel}:${to.chat.id}` : "nobody; the answer stays in the transcript";
}

/** A table of records. */
function showRuns(io: Io, runs: readonly Run[]): void {
  if (runs.length === 0) io.out("No job has run yet.\n");
  else io.out(table(io, ["ENDED", "JOB", "STATUS", "DELIVERY", "TOOK", "RUN", "WHAT CAME OF IT"], runs.map(runCells)));
}

const runCells = (run: Run): readonly string[] => [
  timeOf(run.ts),
  run.jobName ?? run.jobId,
  run.status,
  deliveryText(run),
  run.durationMs === undefined ? "-" : showMs(run.durationMs),
  run.runId ?? "-",
  (run.error ?? run.summary ?? "").slice(0, 100),
];

/** A run that failed has no answer to deliver; that it failed may have been told all the same. */
const deliveryText = ({ status, deliveryStatus, deliveryError }: Run): string =>
  status === "error" && deliveryStatus === "not-delivered" && deliveryError === undefined
    ? "no answer"
    : deliveryStatus;

const page = z.looseObject({ jobs: z.array(jobShape), total: z.number(), nextOffset: z.number().nullable() });
const runsPage = z.looseObject({ entries: z.array(runShape) });
const PAGE = 200;
/** Ctrl-C ends the command by itself. */
const NEVER = new AbortController().signal;

async function ask<T>(io: Io, method: string, params: object, shape: z.ZodType<T>): Promise<T> {
  return callOnce(io, await readState(io), { method, params, shape });
}

/** Lists the jobs. Throws GATEWAY_UNREACHABLE, as all of these do. */
export async function cronList(io: Io, { all, query, agent, json }: ListFlags): Promise<number> {
  const jobs: z.output<typeof jobShape>[] = [];
  for (let offset: number | null = 0; offset !== null;) {
    const params = defined({ enabled: all === true ? "all" : "enabled", query, agentId: agent, limit: PAGE, offset });
    const answer: z.output<typeof page> = await ask(io, "cron.list", params, page);
    jobs.push(...answer.jobs);
    offset = answer.nextOffset;
  }
  if (json === true) writeJson(io, { jobs });
  else showJobs(io, jobs);
  return 0;
}

const statusShape = z.looseObject({
  enabled: z.boolean(),
  jobs: z.number(),
  running: z.number(),
  nextWakeAtMs: z.number().optional(),
});

export async function cronStatus(io: Io, { json }: Json): Promise<number> {
  const status = await ask(io, "cron.status", {}, statusShape);
  if (json === true) writeJson(io, status);
  else {
    const next = status.nextWakeAtMs === undefined ? "none" : new Date(status.nextWakeAtMs).toLocaleString("sv-SE");
    const off = status.enabled ? "" : "Scheduled jobs are switched off: cron.enabled, or OPENCLAW_SKIP_CRON.\n";
    io.out(`${off}${status.jobs} jobs, ${status.running} running. Next: ${next}.\n`);
  }
  return 0;
}

export async function cronShow(io: Io, id: string, flags: Json): Promise<number> {
  const job = await ask(io, "cron.get", { id }, jobShape);
  return show(io, job, flags);
}

async function show(io: Io, job: z.output<typeof jobShape>, { json }: Json): Promise<number> {
  const preview = await ask(io, "cron.preview", { id: job.id }, previewShape);
  if (json === true) writeJson(io, { ...job, preview });
  else showJob(io, job, preview);
  return 0;
}

export async function cronAdd(
  io: Io,
  { schedule, message }: { readonly schedule: string | undefined; readonly message: string | undefined },
  flags: JobFlags,
): Promise<number> {
  const now = Date.now();
  const all = { ...whenOf(schedule), ...defined({ message }), ...flags };
  const job = jobOf(all, now);
  if (job["schedule"] === undefined) throw wrongFlag("say when: --at, --every, --cron, --on-exit or --stream-command");
  if (job["payload"] === undefined) throw wrongFlag("say what: --message, --system-event or --command");
  const added = await ask(io, "cron.add", { ...job, ...(flags.disabled === true && { enabled: false }) }, jobShape);
  const code = await show(io, added, flags);
  if (flags.json !== true && (added.payload.kind === "command" || added.schedule.command !== undefined))
    io.err(rulesText(added));
  return code;
}

/** What the command may do is decided when it runs, by what the operator's files say then. */
const rulesText = ({ id, schedule }: z.output<typeof jobShape>): string =>
  "The command has the rules of the agent's commands, and nobody is asked about it: openclaw approvals allowlist add <program> allows one. " +
  `See whether it runs: ${schedule.command === undefined ? `openclaw cron run ${id} --wait` : `openclaw cron show ${id}`}\n`;

/** A schedule that is written without its flag. */
function whenOf(schedule: string | undefined): JobFlags {
  if (schedule === undefined) return {};
  if (/^@\w+$/.test(schedule) || /^\S+(\s+\S+){4,5}$/.test(schedule)) return { cron: schedule };
  return { at: schedule };
}

export async function cronEdit(io: Io, id: string, flags: EditFlags): Promise<number> {
  const patch = patchOf(flags, Date.now());
  return show(io, await ask(io, "cron.update", { id, patch }, jobShape), flags);
}

export async function cronSwitch(io: Io, id: string, { enabled, json }: Json & { enabled: boolean }): Promise<number> {
  const job = await ask(io, "cron.update", { id, patch: { enabled } }, jobShape);
  if (json === true) writeJson(io, job);
  else io.out(`"${job.name}" is switched ${enabled ? "on" : "off"}.\n`);
  return 0;
}

export async function cronRemove(io: Io, id: string, { json }: Json): Promise<number> {
  const answer = await ask(io, "cron.remove", { id }, z.looseObject({}));
  if (json === true) writeJson(io, answer);
  else io.out(`Removed ${id}.\n`);
  return 0;
}

const begunShape = z.looseObject({ runId: z.string().optional(), reason: z.string().optional() });

const REASONS: Readonly<Record<string, string>> = {
  "not-due": "It is not due.",
  "already-running": "It is running already.",
  disabled: "It is switched off.",
};

export async function cronRun(io: Io, id: string, flags: RunFlags): Promise<number> {
  const mode = flags.due === true ? "due" : "force";
  const begun = await ask(io, "cron.run", { id, mode }, begunShape);
  if (begun.runId === undefined) {
    if (flags.json === true) writeJson(io, begun);
    else io.out(`${REASONS[begun.reason ?? ""] ?? begun.reason}\n`);
    return 1;
  }
  if (flags.wait === true) return waitFor(io, { id, runId: begun.runId }, flags);
  if (flags.json === true) writeJson(io, begun);
  else io.out(`It runs now: openclaw cron runs --run-id ${begun.runId}\n`);
  return 0;
}

async function waitFor(
  io: Io,
  which: { readonly id: string; readonly runId: string },
  flags: RunFlags,
): Promise<number> {
  const until = Date.now() + duration("--wait-timeout", flags.waitTimeout);
  const every = duration("--poll-interval", flags.pollInterval);
  for (;;) {
    const { entries } = await ask(io, "cron.runs", { ...which, limit: 1 }, runsPage);
    const [run] = entries;
    if (run) {
      if (flags.json === true) writeJson(io, run);
      else showRuns(io, [run]);
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

export async function cronRuns(io: Io, { id, runId, agent, status, limit, json }: RunsFlags): Promise<number> {
  const params = defined({ id, runId, agentId: agent, status, limit: Number(limit) });
  const { entries } = await ask(io, "cron.runs", params, runsPage);
  if (json === true) writeJson(io, { entries });
  else showRuns(io, entries);
  return 0;
}
