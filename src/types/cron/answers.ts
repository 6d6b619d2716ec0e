import { z } from "zod";
import { keyField, namedKeyField } from "../key-field.ts";
import type { Answer } from "../method.ts";
import { cronJob } from "./job.ts";
import { cronRun, cronState } from "./run.ts";

const time = z.number().optional();

const state = cronState
  .omit({ cursorMs: true, underway: true, retry: true, backoffUntilMs: true, pacedAtMs: true })
  .extend({ nextRunAtMs: time, runningAtMs: time });

/** A job as clients see it, in the protocol's words. */
const job = cronJob.omit({ scheduleRevision: true, setUpBy: true }).extend({
  /** Changes with whatever people say of the job. */
  configRevision: z.string(),
  sessionKey: namedKeyField("alias").optional(),
  sessionTarget: namedKeyField("place"),
  state,
  nextRunAtMs: time,
  ...state.pick({ lastRunAtMs: true, lastRunStatus: true, lastDeliveryStatus: true }).shape,
  lastRunError: state.shape.lastError,
});
export type CronJobView = Answer<z.output<typeof job>>;

const row = job.pick({ id: true, name: true, enabled: true, schedule: true, configRevision: true }).extend({
  ...job.pick({ agentId: true, updatedAtMs: true, declarationKey: true, displayName: true }).shape,
  ...job.pick({ nextRunAtMs: true, lastDeliveryStatus: true }).shape,
  scheduleKind: z.string(),
  nextRunAt: z.string().optional(),
  lastRunAt: z.string().nullable(),
  lastRunAtMs: z.number().nullable(),
  lastRunStatus: job.shape.lastRunStatus.unwrap().nullable(),
  lastRunError: z.string().nullable(),
});
/** A job in a list of many. */
export type CronJobRow = Answer<z.output<typeof row>>;

/** A record as clients see it. */
const run = cronRun
  .omit({ slotAtMs: true, costUsd: true, webhookStatus: true })
  .extend({ sessionKey: keyField().optional(), nextRunAtMs: time });
export type CronRunView = Answer<z.output<typeof run>>;

const preview = z.looseObject({
  nextRunsAtMs: z.array(z.number()),
  /** Slots of the next 30 days. */
  runsPerMonth: z.number(),
  /** The mean of the job's latest runs, or of other jobs' when it has none. */
  costPerRunUsd: z.number().optional(),
  /** As `CronPlace`. */
  place: z.looseObject({
    sessionKey: keyField(),
    to: z
      .looseObject({
        channel: z.string(),
        account: z.string(),
        chat: z.looseObject({ kind: z.string(), id: z.string() }),
        thread: z.string().optional(),
      })
      .optional(),
    tell: keyField().optional(),
    problem: z.string().optional(),
  }),
});

const page = { total: z.number(), offset: z.number(), limit: z.number(), hasMore: z.boolean() };
const nextOffset = z.number().nullable();

/** The answers of `cron.*`. */
export const cronAnswers = {
  add: job,
  get: job,
  update: job,
  preview,
  status: z.looseObject({ enabled: z.boolean(), jobs: z.number(), running: z.number(), nextWakeAtMs: time }),
  list: z.looseObject({
    jobs: z.array(job.extend({ effectiveAgentId: z.string() })),
    ...page,
    nextOffset,
    /** The pages of one list have the same. */
    snapshotRevision: z.string(),
    deliveryPreviews: z.record(z.string(), z.looseObject({ label: z.string(), detail: z.string() })).optional(),
  }),
  runs: z.looseObject({ entries: z.array(run), ...page, nextOffset }),
  remove: z.looseObject({ ok: z.boolean(), removed: z.boolean() }),
  run: z.looseObject({
    ok: z.boolean(),
    enqueued: z.boolean().optional(),
    runId: z.string().optional(),
    /** False when no run was begun; `reason` says why. */
    ran: z.boolean().optional(),
    reason: z.string().optional(),
  }),
  import: z.looseObject({
    added: z.number(),
    known: z.number(),
    runs: z.number(),
    refused: z.array(z.looseObject({ name: z.string(), problem: z.string() })),
  }),
};
export type CronAnswers = { readonly [Name in keyof typeof cronAnswers]: Answer<z.output<(typeof cronAnswers)[Name]>> };

/** The answer of `cron.list` to a client that wants compact rows. */
export const cronRows = cronAnswers.list.extend({ jobs: z.array(row.extend({ effectiveAgentId: z.string() })) });

/** The answer of `cron.add` to a job with a `declarationKey`. */
export const cronDeclared = z.looseObject({ created: z.boolean(), updated: z.boolean().optional(), job });
