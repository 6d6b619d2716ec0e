import { z } from "zod";
import { shellText } from "../../../../automation/cron/command/command-call.ts";
import type { Io } from "../../io.ts";
import { pairs, table } from "../../table.ts";
import { showMs, timeOf } from "../runs/run-figures.ts";

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
export const jobShape = z.looseObject({
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

export const previewShape = z.looseObject({
  nextRunsAtMs: z.array(z.number()),
  runsPerMonth: z.number(),
  costPerRunUsd: z.number().optional(),
  place: z.looseObject({
    sessionKey: z.string(),
    to: z.looseObject({ channel: z.string(), chat: z.looseObject({ id: z.string() }) }).optional(),
    problem: z.string().optional(),
  }),
});

export const runShape = z.looseObject({
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
export function showJobs(io: Io, jobs: readonly Job[]): void {
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
export function showJob(
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
export function showRuns(io: Io, runs: readonly Run[]): void {
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
