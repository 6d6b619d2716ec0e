import { z } from "zod";
import { keyField } from "../key-field.ts";
import { type Answer, openText } from "../method.ts";

/** A row of the inbox. Times are epoch milliseconds. */
export const inboxLine = z.looseObject({
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
  sessionKey: keyField().optional(),
  runId: z.string().optional(),
  refused: z.string().optional(),
  againOf: z.number().optional(),
  isUnsent: z.boolean().optional(),
  isOperator: z.boolean().optional(),
  outcome: z.looseObject({ kind: z.string(), why: z.string().optional() }).optional(),
});
export type InboxLine = Answer<z.output<typeof inboxLine>>;

/** A row of the outbox: one chunk of a reply. */
export const outboxLine = z.looseObject({
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
  sessionKey: keyField().optional(),
});
export type OutboxLine = Answer<z.output<typeof outboxLine>>;

/** One thing that happened to a message. Without a time, it happened during the step before it. */
const storyStep = z.looseObject({
  at: z.number().optional(),
  step: openText<
    "received" | "planned" | "offered" | "admission" | "session" | "queue" | "file" | "run" | "reply" | "end" | "again"
  >(),
  text: z.string(),
});
export type StoryStep = Answer<z.output<typeof storyStep>>;

const story = z.looseObject({ row: inboxLine.optional(), seen: z.number().optional(), steps: z.array(storyStep) });

/** A description of the action, and the row that it changed. */
const done = z.looseObject({ id: z.number(), did: z.string() });
export type Done = Answer<z.output<typeof done>>;

const waiting = inboxLine.pick({
  id: true,
  runId: true,
  channel: true,
  text: true,
  files: true,
  sender: true,
  receivedAt: true,
  isOperator: true,
});

/** The answers of `inbox.*`, `outbox.*` and `messages.why`, and of `sessions.queue`. */
export const messageAnswers = {
  inboxList: z.looseObject({ rows: z.array(inboxLine) }),
  outboxList: z.looseObject({ rows: z.array(outboxLine) }),
  inboxRow: z.looseObject({
    row: inboxLine,
    /** How often the platform offered the message. */
    seen: z.number(),
    /** Rows of its later runs that an operator requested. */
    again: z.array(z.number()),
    replies: z.array(outboxLine),
  }),
  outboxRow: z.looseObject({ row: outboxLine }),
  why: z.looseObject({ stories: z.array(story) }),
  done,
  queue: z.looseObject({ key: keyField(), messages: z.array(waiting) }),
};
