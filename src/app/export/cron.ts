import { cronJob, type CronJob } from "../../types/cron/job.ts";
import { cronState, type CronState } from "../../types/cron/run.ts";
import type { StoredRow } from "../../types/cron/table.ts";
import { wireKey } from "../../sessions/keys.ts";
import { sessionKey, type AgentId, type SessionKey } from "../../types/ids.ts";
import type { Fields } from "../../utils/fields.ts";
import type { LeftItem } from "./records.ts";

export interface CronScene {
  readonly defaultAgent: AgentId;
  /** The new keys of conversations. */
  readonly names: ReadonlyMap<SessionKey, string>;
  readonly now: number;
}

/** The content of `cron/jobs.json` and of `cron/jobs-state.json` beside it. */
export interface ExportedCron {
  readonly jobs: readonly Fields[];
  readonly states: Readonly<Record<string, Fields>>;
  readonly left: readonly LeftItem[];
}

const SCHEDULES = new Set(["at", "every", "cron"]);

/** The jobs as OpenClaw 2026.5.20 keeps them. A job that it cannot run stays behind; one whose only time has passed is switched off. Pure. */
export function cronForOpenClaw(rows: readonly StoredRow[], scene: CronScene): ExportedCron {
  const jobs: Fields[] = [];
  const states: Record<string, Fields> = {};
  const left: LeftItem[] = [];
  for (const row of rows) {
    const job = cronJob.safeParse(row.job).data;
    const why = job ? whyNot(job) : "it cannot be read";
    if (!job || why !== undefined) {
      left.push({ what: `the job ${job?.name ?? row.id}`, why: why ?? "it cannot be read" });
      continue;
    }
    const state = cronState.safeParse(row.state).data;
    const isOver = isPast(job, state, scene.now);
    if (isOver)
      left.push({
        what: `the job ${job.name} is switched off`,
        why: "its time has passed, and OpenClaw would run it at once",
      });
    jobs.push(jobFor(isOver ? { ...job, enabled: false } : job, scene));
    states[job.id] = { updatedAtMs: job.updatedAtMs, state: stateFor(state) };
  }
  return { jobs, states, left };
}

function whyNot({ schedule, payload }: CronJob): string | undefined {
  if (!SCHEDULES.has(schedule.kind)) return `OpenClaw has no schedule of the kind ${schedule.kind}`;
  return payload.kind === "command" ? "OpenClaw's jobs run no commands without a model" : undefined;
}

const isPast = ({ enabled, schedule }: CronJob, state: CronState | undefined, now: number): boolean =>
  enabled && schedule.kind === "at" && Date.parse(schedule.at) <= now && state?.lastRunStatus !== "ok";

/** The fields that OpenClaw has; a limit of this gateway, such as the tools of a text for the main conversation, is not among them. */
function jobFor(job: CronJob, scene: CronScene): Fields {
  const { id, name, description, enabled, deleteAfterRun, agentId, wakeMode, schedule, delivery, failureAlert } = job;
  return defined({
    id,
    agentId: agentId ?? scene.defaultAgent,
    sessionKey: job.sessionKey === undefined ? undefined : nameOf(job.sessionKey, scene),
    name,
    description,
    enabled,
    deleteAfterRun,
    createdAtMs: job.createdAtMs,
    schedule,
    sessionTarget: targetFor(job.sessionTarget, scene),
    wakeMode,
    payload: job.payload,
    delivery,
    failureAlert,
    state: {},
  });
}

const TARGET = "session:";

const targetFor = (target: string, scene: CronScene): string =>
  target.startsWith(TARGET) ? TARGET + nameOf(sessionKey(target.slice(TARGET.length)), scene) : target;

const nameOf = (key: SessionKey, { names, defaultAgent }: CronScene): string =>
  names.get(key) ?? wireKey(key, defaultAgent);

function stateFor(state: CronState | undefined): Fields {
  const { lastRunAtMs, lastRunStatus, lastError, lastDurationMs, consecutiveErrors } = state ?? {};
  return defined({
    lastRunAtMs,
    lastRunStatus,
    lastStatus: lastRunStatus,
    lastError,
    lastDurationMs,
    consecutiveErrors,
  });
}

const defined = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
