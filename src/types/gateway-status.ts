import { z } from "zod";
import { keyField } from "./key-field.ts";
import { shownAccount } from "./answers/channels.ts";
import type { Answer } from "./method.ts";

const count = z.number().optional();
const text = z.string().optional();
const flag = z.boolean().optional();
const amount = z.number().nullish();
const texts = z.array(z.string()).optional();

const model = z.looseObject({
  provider: z.string(),
  id: z.string(),
  available: flag,
  problem: z.string().optional(),
  demo: z.boolean().optional(),
});
const journal = z.looseObject({
  /** Size of the file. */
  bytes: count,
  openInbox: z.number(),
  unclaimedInbox: count,
  unreadableLastWeek: count,
  openOutbox: count,
  oldestOutboxAt: count,
  unknownOutbox: z.number(),
  oldestInboxAt: count,
  staleLastDay: count,
  failedOutboxLastDay: count,
});
const named = z.looseObject({ key: keyField(), updatedAt: count, age: count });
const recent = z.array(named).optional();
/** The newest sessions, with their settings and the use of the window. */
const detailed = z
  .array(
    named.extend({
      agentId: text,
      kind: text,
      sessionId: text,
      thinkingLevel: text,
      verboseLevel: text,
      reasoningLevel: text,
      systemSent: flag,
      abortedLastRun: flag,
      model: z.string().nullish(),
      totalTokens: amount,
      totalTokensFresh: flag,
      contextTokens: amount,
      remainingTokens: amount,
      percentUsed: amount,
      flags: texts,
    }),
  )
  .optional();
const heartbeat = z.looseObject({
  enabled: z.boolean(),
  every: text,
  everyMs: z.number().nullable(),
  target: text,
  prompt: text,
  ackMaxChars: count,
});
export const eventLoopShape = z.looseObject({
  degraded: z.boolean(),
  degradedSinceMs: amount,
  reasons: texts,
  intervalMs: count,
  delayP99Ms: count,
  delayMaxMs: count,
  utilization: count,
  cpuCoreRatio: count,
});
export const memoryShape = z.looseObject({
  rssBytes: z.number(),
  heapUsedBytes: z.number(),
  heapTotalBytes: z.number(),
  externalBytes: z.number(),
  arrayBuffersBytes: z.number(),
});
const spent = { input: z.number(), output: z.number(), costUsd: z.number() };
const plugin = z.looseObject({ plugin: z.string(), calls: z.number(), ...spent });

/** The sessions as `status` tells them: `paths` are the files of the lists. */
const sessions = z.looseObject({
  path: text,
  paths: texts,
  defaults: z.looseObject({ model: z.string().nullable(), contextTokens: z.number().nullable() }).optional(),
  count,
  recent: detailed,
  byAgent: z.array(z.looseObject({ agentId: text, path: text, count, recent: detailed })).optional(),
});

/** The answer of `status`. Each part may be missing in another version. */
export const statusAnswer = z.looseObject({
  version: z.string().optional(),
  runtimeVersion: z.string().optional(),
  ts: count,
  pid: count,
  uptimeMs: count,
  stateDir: text,
  processMemory: memoryShape.optional(),
  eventLoop: eventLoopShape.optional(),
  heartbeat: z
    .looseObject({ defaultAgentId: z.string(), agents: z.array(heartbeat.extend({ agentId: z.string() })) })
    .optional(),
  activeRuns: count,
  /** Messages that wait for their turn. */
  waiting: count,
  connections: count,
  sessions: sessions.optional(),
  ready: z.looseObject({ ok: z.boolean(), problems: texts }).optional(),
  /** Why channels and jobs are off after several starts that did not end in order. */
  safeMode: text,
  /** The start that runs, and those of the minutes before it that did not end in order; epoch milliseconds. */
  starts: z.array(z.looseObject({ at: z.number(), careful: flag })).optional(),
  model: model.optional(),
  channels: z.array(shownAccount.extend({ channel: z.string(), label: text, lifecycle: z.string() })).optional(),
  channelSummary: texts,
  plugins: z.looseObject({ loaded: z.number(), problems: z.array(z.string()) }).optional(),
  config: z
    .looseObject({
      path: text,
      exists: flag,
      problems: z.array(z.looseObject({ message: z.string(), fix: z.string() })).optional(),
      warnings: texts,
    })
    .optional(),
  journal: journal.optional(),
  stuck: z.array(z.looseObject({ session: keyField(), doing: z.string(), forMs: z.number() })).optional(),
  sandboxes: z.array(z.looseObject({ agent: z.string(), mode: z.string(), works: z.boolean().optional() })).optional(),
  /** The latest upkeep of the sessions. */
  upkeep: z
    .looseObject({
      mode: z.string(),
      at: z.number(),
      /** Nothing was changed. */
      dryRun: z.boolean(),
      /** What was due, in words; unset for nothing. */
      due: text,
      bytes: z.number(),
      overBudget: z.boolean(),
    })
    .optional(),
  failing: z.looseObject({ runs: z.number(), kind: z.string() }).optional(),
  strangers: z.looseObject({ waiting: z.number(), turnedAway: z.number() }).optional(),
  lastDay: z
    .looseObject({ runs: z.number(), failed: z.number(), ...spent, plugins: z.array(plugin).optional() })
    .optional(),
});
export type GatewayStatus = Answer<z.output<typeof statusAnswer>>;

const listed = z.looseObject({ path: text, count: z.number(), recent });

/** The answer of `health`. */
export const healthAnswer = z.looseObject({
  ok: z.boolean(),
  problems: texts,
  agents: z
    .array(
      z.looseObject({
        agentId: z.string(),
        name: text,
        isDefault: flag,
        heartbeat: heartbeat.optional(),
        sessions: listed.optional(),
      }),
    )
    .optional(),
  durationMs: count,
  channelOrder: texts,
  ts: count,
  defaultAgentId: text,
  channelLabels: z.record(z.string(), z.string()).optional(),
  channels: z.record(z.string(), z.looseObject({ configured: z.boolean(), connected: z.boolean() })).optional(),
  heartbeatSeconds: count,
  configReload: z.looseObject({ hotReloadStatus: z.string() }).optional(),
  sessions: listed.optional(),
  contextEngine: z
    .looseObject({
      id: z.string(),
      passedBy: z.looseObject({ runs: z.number(), of: z.number(), why: z.string() }).optional(),
    })
    .optional(),
  plugins: z
    .looseObject({
      loaded: z.array(z.string()),
      errors: z.array(z.looseObject({ id: z.string(), why: z.string().optional() })),
      unavailable: texts,
    })
    .optional(),
  eventLoop: eventLoopShape.optional(),
});
export type GatewayHealth = Answer<z.output<typeof healthAnswer>>;

/** The answer of `models.list`. A model without `available` is available. */
export const modelsAnswer = z.looseObject({
  models: z.array(
    z.looseObject({
      id: z.string(),
      provider: z.string(),
      name: z.string(),
      contextWindow: z.number(),
      reasoning: z.boolean(),
      available: z.boolean().optional(),
      input: z.array(z.string()).optional(),
      alias: z.string().optional(),
      /** `default`: the agent's own model. */
      tags: texts,
      thinkingLevels: z.array(z.looseObject({ id: z.string(), label: z.string() })).optional(),
      thinkingDefault: z.string().optional(),
    }),
  ),
});
export type ShownModels = Answer<z.output<typeof modelsAnswer>>;

/** A piece of the daily log file, starting at a byte position. */
export const logTail = z.looseObject({
  file: z.string(),
  /** Byte position from which to read next time. */
  cursor: z.number(),
  size: z.number(),
  lines: z.array(z.string()),
  truncated: z.boolean().optional(),
  /** The file was replaced since the given cursor. */
  reset: z.boolean().optional(),
});
export type LogTail = Answer<z.output<typeof logTail>>;
