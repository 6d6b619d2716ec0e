import { z } from "zod";
import type { CronRun } from "../../types/cron/run.ts";
import { runId, sessionKey } from "../../types/ids.ts";
import { defined } from "../../utils/defined.ts";

const MOST_CHARS = 2000;
const time = z.int().min(0);

const shape = z.lazy(() =>
  z.looseObject({
    ts: time,
    jobId: z.string().min(1).max(200),
    jobName: z.string().optional(),
    action: z.literal("finished"),
    status: z.enum(["ok", "error", "skipped"]),
    completionStatus: z.enum(["succeeded", "failed", "unknown"]).optional(),
    error: z.string().optional(),
    summary: z.string().optional(),
    delivered: z.boolean().optional(),
    deliveryStatus: z.enum(["delivered", "not-delivered", "unknown", "not-requested"]).optional(),
    runId: z.string().optional(),
    sessionId: z.string().optional(),
    sessionKey: z.string().optional(),
    runAtMs: time.optional(),
    durationMs: time.optional(),
    model: z.string().optional(),
    provider: z.string().optional(),
  }),
);

/** A record as other gateways write it, one line of `runs/<jobId>.jsonl`; undefined when it is none. */
export function readRun(given: unknown): CronRun | undefined {
  const { data } = shape.safeParse(given);
  if (!data) return undefined;
  const { ts, jobId, action, status, delivered, runAtMs = data.ts } = data;
  return {
    ts,
    jobId,
    action,
    status,
    runAtMs,
    slotAtMs: runAtMs,
    deliveryStatus: data.deliveryStatus ?? (delivered === true ? "delivered" : "unknown"),
    ...defined({
      delivered,
      jobName: data.jobName,
      completionStatus: data.completionStatus,
      error: data.error?.slice(0, MOST_CHARS),
      summary: data.summary?.slice(0, MOST_CHARS),
      durationMs: data.durationMs,
      sessionId: data.sessionId,
      model: data.model,
      provider: data.provider,
      runId: data.runId === undefined ? undefined : runId(data.runId),
      sessionKey: data.sessionKey === undefined ? undefined : sessionKey(data.sessionKey),
    }),
  };
}
