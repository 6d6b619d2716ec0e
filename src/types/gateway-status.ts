import { z } from "zod";
import { keyField } from "./key-field.ts";
import type { Answer } from "./method.ts";

const count = z.number().optional();
const texts = z.array(z.string()).optional();

const model = z.looseObject({
  provider: z.string(),
  id: z.string(),
  problem: z.string().optional(),
  demo: z.boolean().optional(),
});
const journal = z.looseObject({
  openInbox: z.number(),
  unknownOutbox: z.number(),
  oldestInboxAt: count,
  staleLastDay: count,
  failedOutboxLastDay: count,
});
const recent = z.array(z.looseObject({ key: keyField() })).optional();
const spent = { input: z.number(), output: z.number(), costUsd: z.number() };
const plugin = z.looseObject({ plugin: z.string(), calls: z.number(), ...spent });

/** The sessions as `status` tells them: `paths` are the files of the lists. */
const sessions = z.looseObject({ count, recent, byAgent: z.array(z.looseObject({ recent })).optional() });

/** The answer of `status`. Each part may be missing in another version. */
export const statusAnswer = z.looseObject({
  version: z.string().optional(),
  runtimeVersion: z.string().optional(),
  uptimeMs: count,
  activeRuns: count,
  connections: count,
  sessions: sessions.optional(),
  ready: z.looseObject({ ok: z.boolean(), problems: texts }).optional(),
  model: model.optional(),
  channels: z.array(z.looseObject({ channel: z.string(), accountId: z.string(), lifecycle: z.string() })).optional(),
  plugins: z.looseObject({ loaded: z.number(), problems: z.array(z.string()) }).optional(),
  config: z
    .looseObject({ problems: z.array(z.looseObject({ message: z.string(), fix: z.string() })).optional() })
    .optional(),
  journal: journal.optional(),
  stuck: z.array(z.looseObject({ session: keyField(), doing: z.string(), forMs: z.number() })).optional(),
  sandboxes: z.array(z.looseObject({ agent: z.string(), mode: z.string(), works: z.boolean().optional() })).optional(),
  failing: z.looseObject({ runs: z.number(), kind: z.string() }).optional(),
  strangers: z.looseObject({ waiting: z.number(), turnedAway: z.number() }).optional(),
  lastDay: z
    .looseObject({ runs: z.number(), failed: z.number(), ...spent, plugins: z.array(plugin).optional() })
    .optional(),
});
export type GatewayStatus = Answer<z.output<typeof statusAnswer>>;

/** The answer of `health`. */
export const healthAnswer = z.looseObject({
  ok: z.boolean(),
  problems: texts,
  agents: z
    .array(z.looseObject({ agentId: z.string(), sessions: z.looseObject({ count: z.number(), recent }).optional() }))
    .optional(),
  durationMs: count,
  channelOrder: texts,
  sessions: z.looseObject({ count: z.number(), recent }).optional(),
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
    })
    .optional(),
  eventLoop: z.looseObject({ degraded: z.boolean(), utilization: count }).optional(),
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
    }),
  ),
});
