import { z } from "zod";
import { keyField } from "../key-field.ts";
import { type Answer, openText } from "../method.ts";
import { receiptShape } from "../run/run.ts";

/** A row of the inbox. Times are epoch milliseconds. */
export const inboxLine = z.looseObject({
  id: z.number(),
  channel: z.string(),
  account: z.string(),
  chat: z.string(),
  chatKind: z.string().optional(),
  thread: z.string().optional(),
  messageId: z.string(),
  sender: z.looseObject({ id: z.string(), name: z.string().optional() }),
  text: z.string(),
  files: z.number(),
  state: z.string(),
  /** When its sender wrote it, as the platform says. */
  writtenAt: z.number().optional(),
  receivedAt: z.number(),
  acceptedAt: z.number().optional(),
  claimedAt: z.number().optional(),
  doneAt: z.number().optional(),
  /** How many processes have begun it, and when. */
  attempts: z.number().optional(),
  starts: z.array(z.number()).optional(),
  /** Set for a message of the platform that no person wrote. */
  event: z.unknown().optional(),
  sessionKey: keyField().optional(),
  agentId: z.string().optional(),
  runId: z.string().optional(),
  turnId: z.string().optional(),
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
  thread: z.string().optional(),
  /** Names of the reply and of the chunk, the same after a restart. */
  replyKey: z.string().optional(),
  sendKey: z.string().optional(),
  kind: z.string(),
  files: z.number().optional(),
  text: z.string(),
  state: z.string(),
  attempts: z.number(),
  createdAt: z.number(),
  sentAt: z.number().optional(),
  retriedAt: z.number().optional(),
  messageId: z.string().optional(),
  /** The preview that the chunk replaces. */
  editOf: z.string().optional(),
  /** The message that the chunk answers on the platform. */
  answers: z.string().optional(),
  silent: z.boolean().optional(),
  error: z.string().optional(),
  isRepeat: z.boolean().optional(),
  gap: z.unknown().optional(),
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

/** A run of a message, without its prompt. */
const runOfStory = z.looseObject({
  runId: z.string(),
  sessionKey: keyField(),
  agentId: z.string().optional(),
  at: z.number(),
  result: z.string(),
  receipt: receiptShape.partial(),
});

const story = z.looseObject({
  row: inboxLine.optional(),
  seen: z.number().optional(),
  run: runOfStory.optional(),
  /** Rows of the other messages of its turn. */
  turn: z.array(z.number()).optional(),
  replies: z.array(outboxLine).optional(),
  steps: z.array(storyStep),
});

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
