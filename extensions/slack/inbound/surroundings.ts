import type { InboundMessage, Peer } from "openclaw/plugin-sdk";
import type { SlackMessage } from "./events.ts";
import { senderOf, wordsOf } from "../parts.ts";
import type { Thread } from "./threads.ts";
import type { View } from "./view.ts";
import { isNamed, readable } from "./words.ts";

export interface Surroundings {
  readonly facts: Pick<InboundMessage, "mentionsBot" | "replyTo" | "threadStarter" | "threadHistory">;
}

/** Whether the bot is meant, and what stands around the message in its thread. */
export async function surroundings(message: SlackMessage, from: Peer, view: View): Promise<Surroundings> {
  const named = from.chat.kind === "direct" || isNamed(message.text ?? "", view.self.userId);
  return from.thread === undefined
    ? { facts: { mentionsBot: named } }
    : inThread({ message, named, channel: from.chat.id, thread: from.thread }, view);
}

interface Answer {
  readonly message: SlackMessage;
  readonly named: boolean;
  readonly channel: string;
  readonly thread: string;
}

const UNREAD: Thread = { messages: [], hasBot: false, hasAnswer: false };

async function inThread({ message, named, channel, thread }: Answer, view: View): Promise<Surroundings> {
  const { messages: known, hasAnswer } = (await view.threads.read(channel, thread)) ?? UNREAD;
  const starter = await starterOf(known, thread, view);
  const isFirst = view.threads.isFirstSight(channel, thread, message);
  const begun = message.parent_user_id === view.self.userId;
  const joined = begun || (await view.threads.hasBot(channel, thread));
  const isMeant = joined && !view.config.thread.requireExplicitMention;
  const mentionsBot = named || isMeant;
  const threadHistory = [
    ...(mentionsBot ? await parentLines({ message, channel, thread, hasAnswer }, view) : []),
    ...(named && isFirst && !joined ? await earlierLines(known, message, view) : []),
  ];
  return {
    facts: {
      mentionsBot,
      ...(begun && isMeant && { replyTo: quote(thread, starter) }),
      ...(starter !== undefined && { threadStarter: starter }),
      ...told(threadHistory),
    },
  };
}

const told = (threadHistory: readonly string[]): Pick<InboundMessage, "threadHistory"> =>
  threadHistory.length > 0 ? { threadHistory } : {};

type Place = Pick<Answer, "message" | "channel" | "thread"> & Pick<Thread, "hasAnswer">;

/** What was said in the channel before a thread in which the bot is asked and has not answered yet. */
async function parentLines({ message, channel, thread, hasAnswer }: Place, view: View): Promise<readonly string[]> {
  const { inheritParent, historyScope, initialHistoryLimit: limit } = view.config.thread;
  if (hasAnswer || !inheritParent || historyScope === "channel" || limit === 0) return [];
  if (!view.threads.inherits(channel, thread, message)) return [];
  const before = await view.threads.before(channel, thread, limit);
  return linesOf(before, "Earlier in the channel", view);
}

async function starterOf(messages: readonly SlackMessage[], thread: string, view: View): Promise<string | undefined> {
  const starter = messages.find(({ ts }) => ts === thread);
  return starter && readable(wordsOf(starter), view.self.userId, view.people);
}

const quote = (id: string, text: string | undefined): NonNullable<InboundMessage["replyTo"]> => ({
  id,
  fromBot: true,
  ...(text !== undefined && { text }),
});

/** What was said in a thread before the bot was called into it. */
async function earlierLines(messages: readonly SlackMessage[], message: SlackMessage, view: View): Promise<string[]> {
  const before = messages.filter(({ ts, thread_ts: thread }) => ts !== thread && Number(ts) < Number(message.ts));
  const limit = view.config.thread.initialHistoryLimit;
  return linesOf(limit === 0 ? [] : before.slice(-limit), "Earlier in the thread", view);
}

function linesOf(lines: readonly SlackMessage[], where: string, view: View): Promise<string[]> {
  return Promise.all(
    lines.map(async (line) => {
      const { id, name } = await senderOf(line, view.people);
      return `${where}, ${name ?? id}: ${await readable(wordsOf(line), view.self.userId, view.people)}`;
    }),
  );
}
