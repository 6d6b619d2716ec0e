import type { InboundMessage } from "openclaw/plugin-sdk";
import { isDirect } from "../channel-ids.ts";
import type { SlackMessage } from "../events.ts";
import { senderOf, threadOf, wholeText, writtenIn } from "./message-parts.ts";
import type { Thread } from "./threads.ts";
import type { ReadContext } from "./read-context.ts";
import { isMentioned, readableText } from "./message-text.ts";

export type ThreadContext = Pick<InboundMessage, "mentionsBot" | "replyTo" | "context">;

/** Whether a message addresses the bot, and the context of the message in its thread. */
export async function threadContext(
  message: SlackMessage,
  channel: string,
  context: ReadContext,
): Promise<ThreadContext> {
  const isNamed = isDirect(channel) || isMentioned(writtenIn(message), context.self.userId);
  const thread = threadOf(message);
  return thread === undefined ? { mentionsBot: isNamed } : inThread({ message, isNamed, channel, thread }, context);
}

interface Answer {
  readonly message: SlackMessage;
  readonly isNamed: boolean;
  readonly channel: string;
  readonly thread: string;
}

const UNREAD: Thread = { messages: [], hasBot: false, hasAnswer: false };

async function inThread({ message, isNamed, channel, thread }: Answer, context: ReadContext): Promise<ThreadContext> {
  const { messages: known, hasAnswer } = (await context.threads.read(channel, thread, context.until)) ?? UNREAD;
  const starter = await starterOf(known, thread, context);
  const firstSeen = context.threads.firstSeen(channel, thread, message);
  const isByBot = message.parent_user_id === context.self.userId;
  const hasBot = isByBot || (await context.threads.hasBot(channel, thread, context.until));
  const isAddressed = hasBot && !context.config.thread.requireExplicitMention;
  const mentionsBot = isNamed || isAddressed;
  const threadHistory = [
    ...(mentionsBot ? await parentLines({ message, channel, thread, hasAnswer }, context) : []),
    ...(isNamed && !hasBot && context.threads.claimsHistory(channel, thread, message)
      ? await earlierLines(known, firstSeen, context)
      : []),
  ];
  return {
    mentionsBot,
    ...(isByBot && isAddressed && { replyTo: quote(thread, starter) }),
    ...contextFact(starter, threadHistory),
  };
}

function contextFact(
  threadStarter: string | undefined,
  threadHistory: readonly string[],
): Pick<InboundMessage, "context"> {
  const context = {
    ...(threadStarter !== undefined && { threadStarter }),
    ...(threadHistory.length > 0 && { threadHistory }),
  };
  return Object.keys(context).length > 0 ? { context } : {};
}

type Place = Pick<Answer, "message" | "channel" | "thread"> & Pick<Thread, "hasAnswer">;

/** The channel's messages before a thread, when the bot is addressed there and has not answered yet. */
async function parentLines(
  { message, channel, thread, hasAnswer }: Place,
  context: ReadContext,
): Promise<readonly string[]> {
  const { inheritParent, historyScope, initialHistoryLimit: limit } = context.config.thread;
  if (hasAnswer || !inheritParent || historyScope === "channel" || limit === 0) return [];
  if (!context.threads.claimsChannelHistory(channel, thread, message)) return [];
  const before = await context.threads.before(channel, thread, { limit, until: context.until });
  return linesOf(before, "Earlier in the channel", context);
}

async function starterOf(
  messages: readonly SlackMessage[],
  thread: string,
  context: ReadContext,
): Promise<string | undefined> {
  const starter = messages.find(({ ts }) => ts === thread);
  return starter && readableText(wholeText(starter), context.self.userId, context.people);
}

const quote = (id: string, text: string | undefined): NonNullable<InboundMessage["replyTo"]> => ({
  id,
  fromBot: true,
  ...(text !== undefined && { text }),
});

/** The messages of a thread before the first one that came here. */
async function earlierLines(
  messages: readonly SlackMessage[],
  firstSeen: string,
  context: ReadContext,
): Promise<string[]> {
  const before = messages.filter(({ ts, thread_ts: thread }) => ts !== thread && Number(ts) < Number(firstSeen));
  const limit = context.config.thread.initialHistoryLimit;
  return linesOf(limit === 0 ? [] : before.slice(-limit), "Earlier in the thread", context);
}

function linesOf(lines: readonly SlackMessage[], where: string, context: ReadContext): Promise<string[]> {
  return Promise.all(
    lines.map(async (line) => {
      const { id, name } = await senderOf(line, context.people);
      return `${where}, ${name ?? id}: ${await readableText(wholeText(line), context.self.userId, context.people)}`;
    }),
  );
}
