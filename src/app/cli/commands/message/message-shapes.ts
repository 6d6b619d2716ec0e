import { z } from "zod";

const outcome = z.looseObject({ kind: z.string(), why: z.string().optional() });

const inboxShape = z.looseObject({
  id: z.number(),
  channel: z.string(),
  account: z.string(),
  chat: z.string(),
  messageId: z.string(),
  sender: z.looseObject({ id: z.string(), name: z.string().optional() }),
  text: z.string(),
  files: z.number(),
  state: z.string(),
  receivedAt: z.number(),
  acceptedAt: z.number().optional(),
  doneAt: z.number().optional(),
  sessionKey: z.string().optional(),
  runId: z.string().optional(),
  refused: z.string().optional(),
  againOf: z.number().optional(),
  isUnsent: z.boolean().optional(),
  outcome: outcome.optional(),
});

const outboxShape = z.looseObject({
  id: z.number(),
  inboxId: z.number().optional(),
  part: z.number(),
  channel: z.string(),
  account: z.string(),
  chat: z.string(),
  kind: z.string(),
  files: z.number().optional(),
  text: z.string(),
  state: z.string(),
  attempts: z.number(),
  createdAt: z.number(),
  sentAt: z.number().optional(),
  messageId: z.string().optional(),
  error: z.string().optional(),
  isRepeat: z.boolean().optional(),
  runId: z.string().optional(),
  sessionKey: z.string().optional(),
});

const step = z.looseObject({ at: z.number().optional(), step: z.string(), text: z.string() });

export const inboxListShape = z.looseObject({ rows: z.array(inboxShape) });
export const outboxListShape = z.looseObject({ rows: z.array(outboxShape) });
export const inboxRowShape = z.looseObject({
  row: inboxShape,
  seen: z.number(),
  again: z.array(z.number()),
  replies: z.array(outboxShape),
});
export const outboxRowShape = z.looseObject({ row: outboxShape });
export const whyShape = z.looseObject({
  stories: z.array(z.looseObject({ row: inboxShape.optional(), seen: z.number().optional(), steps: z.array(step) })),
});
export const doneShape = z.looseObject({ id: z.number(), did: z.string() });

export type InboxLine = z.infer<typeof inboxShape>;
export type OutboxLine = z.infer<typeof outboxShape>;
