import { z } from "zod";
import { eventLoopShape, memoryShape } from "../gateway-status.ts";
import type { Answer } from "../method.ts";

const systemFacts = z.looseObject({
  machineName: z.string(),
  hostname: z.string(),
  platform: z.string(),
  release: z.string(),
  arch: z.string(),
  osLabel: z.string(),
  nodeVersion: z.string(),
  pid: z.number(),
  uptimeMs: z.number(),
  cpuCount: z.number(),
  cpuModel: z.string().optional(),
  loadAverage: z.array(z.number()),
  memoryTotalBytes: z.number(),
  memoryFreeBytes: z.number(),
  disks: z.array(z.looseObject({ path: z.string(), totalBytes: z.number(), availableBytes: z.number() })).optional(),
  diskPath: z.string().optional(),
  diskTotalBytes: z.number().optional(),
  diskAvailableBytes: z.number().optional(),
});
export type SystemFacts = Answer<z.output<typeof systemFacts>>;

const grown = z.looseObject({
  name: z.string(),
  /** The place for people. */
  path: z.string(),
  /** Null: not counted, since there may be very many files. */
  bytes: z.number().nullable(),
  /** There are more files than were counted. */
  atLeast: z.boolean().optional(),
  /** In words; null where there is none. */
  bound: z.string().nullable(),
  limitBytes: z.number().optional(),
  keys: z.array(z.string()),
  /** It is far beyond its bound, or has none. */
  isBeyond: z.boolean(),
  /** What to do then. */
  fix: z.string(),
});

/** A run of the doctor, as `openclaw doctor --json` prints it. `status` is `ok`, `skip`, `warn` or `fail`. */
const doctorReport = z.looseObject({
  status: z.string(),
  checks: z.array(
    z.looseObject({
      id: z.string(),
      title: z.string(),
      status: z.string(),
      durationMs: z.number(),
      results: z.array(
        z.looseObject({
          status: z.string(),
          message: z.string(),
          fix: z.string().optional(),
          /** What `openclaw doctor --fix` would do. */
          repair: z.string().optional(),
        }),
      ),
    }),
  ),
});

/** The version that runs. `before`: the one to which `openclaw update back` returns. */
const updateState = z.looseObject({
  version: z.string(),
  before: z.string().optional(),
  /** The last update; without `outcome` it runs, or was interrupted. */
  last: z
    .looseObject({
      kind: z.string(),
      from: z.string(),
      to: z.string(),
      /** ISO 8601. */
      at: z.string().optional(),
      outcome: z.string().optional(),
      why: z.string().optional(),
    })
    .optional(),
  interrupted: z.boolean(),
});

/** The answers about the machine, the process and the disk. */
export const systemAnswers = {
  info: systemFacts.extend({ eventLoop: eventLoopShape, processMemory: memoryShape }),
  growth: z.looseObject({ ts: z.number(), rows: z.array(grown) }),
  doctor: doctorReport,
  update: updateState,
};
