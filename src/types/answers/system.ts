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

/** The answers about the machine, the process and the disk. */
export const systemAnswers = {
  info: systemFacts.extend({ eventLoop: eventLoopShape, processMemory: memoryShape }),
  growth: z.looseObject({ ts: z.number(), rows: z.array(grown) }),
};
