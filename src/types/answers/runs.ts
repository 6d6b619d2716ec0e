import { z } from "zod";
import { keyField } from "../key-field.ts";
import { type Answer, openText } from "../method.ts";
import type { ChatMessage } from "../run/model.ts";
import { promptPart, receiptShape } from "../run/run.ts";
import { messageBlock } from "../session.ts";
import { inboxLine, outboxLine } from "./messages.ts";

/** An image is described by its type and size. */
const promptContent = messageBlock.extend({ bytes: z.number().optional() });
export type PromptContent = Answer<z.output<typeof promptContent>>;

/** A message as a model saw it, with its estimated tokens. */
const promptMessage = z.looseObject({
  role: openText<ChatMessage["role"]>(),
  entryId: z.string().optional(),
  tokens: z.number(),
  content: z.array(promptContent),
  toolName: z.string().optional(),
  toolCallId: z.string().optional(),
  isError: z.boolean().optional(),
});
export type PromptMessage = Answer<z.output<typeof promptMessage>>;

/** The prompt that a model saw: that of the last attempt of a run, as it began. */
const shownPrompt = z.looseObject({
  runId: z.string(),
  system: z.array(promptPart.extend({ text: z.string().optional() })),
  messages: z.array(promptMessage),
  tools: z.array(z.string()),
  /** Estimated tokens of all tools with their descriptions and schemas. */
  toolTokens: z.number().optional(),
  bodyParts: z.array(promptPart),
  /** Files that turns name. The model saw those that could be read; the transcript does not contain them. */
  imageFiles: z.array(z.string()).default([]),
  /** Whether the messages are those that were sent. */
  faithful: z.boolean(),
  /** The reason why the messages are not those that were sent, or why that is unknown. */
  why: z.string().optional(),
});
export type ShownPrompt = Answer<z.output<typeof shownPrompt>>;

const run = z.looseObject({
  runId: z.string(),
  sessionKey: keyField(),
  agentId: z.string().optional(),
  at: z.number(),
  result: z.string(),
  receipt: receiptShape,
});
export type RunLine = Answer<z.output<typeof run>>;

/** A message of a run, without its text. */
const messageIn = inboxLine
  .pick({ id: true, channel: true, account: true, chat: true, thread: true, messageId: true, state: true })
  .extend({ ...inboxLine.pick({ attempts: true, outcome: true }).shape, sender: z.string() });

/** A chunk of the answer to a run, without its text. */
const chunkOut = outboxLine.pick({
  id: true,
  replyKey: true,
  part: true,
  channel: true,
  account: true,
  chat: true,
  kind: true,
  state: true,
  attempts: true,
  messageId: true,
  error: true,
  isRepeat: true,
});

/** The answers of `runs.*`. */
export const runAnswers = {
  list: z.looseObject({ runs: z.array(run) }),
  get: z.looseObject({ run, inbox: z.array(messageIn), outbox: z.array(chunkOut) }),
  prompt: shownPrompt,
};
export type WholeRun = Answer<z.output<typeof runAnswers.get>>;
