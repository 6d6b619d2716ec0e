import { z } from "zod";
import { readDuration } from "../../../../utils/time/duration.ts";
import { defined } from "../../../../utils/defined.ts";
import { pause } from "../../../../utils/pause.ts";
import { systemClock } from "../../../../types/clock.ts";
import { callOnce } from "../../call-gateway.ts";
import { writeJson, type Io } from "../../io.ts";
import { readState } from "../../state.ts";
import { type EditFlags, type JobFlags, jobOf, patchOf, wrongFlag } from "./job-flags.ts";
import { jobShape, previewShape, runShape, showJob, showJobs, showRuns } from "./show.ts";

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
