import type { ChatActions, ChatFacts, Looked, Peer, Poll, SendResult } from "openclaw/plugin-sdk";
import type { Account } from "../account.ts";
import { chatId, envelope } from "./envelope.ts";
import { failureOf, outcomeOf } from "./failures.ts";
import { change, deliver } from "./send.ts";

/** Seconds for which Telegram lets a poll be open (core.telegram.org/bots/api#sendpoll). */
const POLL_SECONDS = { least: 5, most: 2_628_000 };

/** Actions of a bot in a chat besides sending messages. The Bot API neither reads nor lists messages. */
export function actions(account: Account): ChatActions {
  const { calls } = account.bot;
  return {
    poll: (to, poll) => deliver(account, envelope(account, to, {}), (at) => calls.sendPoll({ ...at, ...pollOf(poll) })),
    pin: (to, messageId, isPinned) => {
      const message = { chat_id: chatId(account, to), message_id: Number(messageId) };
      return change(messageId, () =>
        isPinned ? calls.pinChatMessage({ ...message, disable_notification: true }) : calls.unpinChatMessage(message),
      );
    },
    async createThread(to, { name }) {
      try {
        const made = await calls.createForumTopic({ chat_id: chatId(account, to), name });
        return { kind: "sent", messageId: String(made.message_thread_id) };
      } catch (error) {
        return outcomeOf(failureOf(error));
      }
    },
    async renameThread(to, name) {
      if (to.thread === undefined) return NO_TOPIC;
      const topic = { chat_id: chatId(account, to), message_thread_id: Number(to.thread) };
      return change(to.thread, () => calls.editForumTopic({ ...topic, name }));
    },
    member: (to, userId) => memberOf(account, to, userId),
    chat: (to) => chatOf(account, to),
    sticker: (to, sticker) =>
      deliver(account, envelope(account, to, {}), (at) => calls.sendSticker({ ...at, sticker })),
  };
}

const NO_TOPIC: SendResult = { kind: "refused", reason: "the chat has no topic here" };

const pollOf = ({ question, options, isMulti, hours }: Poll) => ({
  question,
  options: options.map((text) => ({ text })),
  allows_multiple_answers: isMulti,
  ...(hours !== undefined && {
    open_period: Math.round(Math.min(POLL_SECONDS.most, Math.max(POLL_SECONDS.least, hours * 3600))),
  }),
});

/** The answer to a question. */
async function lookUp(ask: () => Promise<ChatFacts>): Promise<Looked<ChatFacts>> {
  try {
    return { kind: "found", value: await ask() };
  } catch (error) {
    const result = outcomeOf(failureOf(error));
    return result.kind === "sent" ? { kind: "unknown", reason: "no answer" } : result;
  }
}

const memberOf = (account: Account, to: Peer, userId: string): Promise<Looked<ChatFacts>> =>
  lookUp(async () => {
    const user = { chat_id: chatId(account, to), user_id: Number(userId) };
    const found = await account.bot.calls.getChatMember(user);
    const { id, first_name: first, last_name: last, username, is_bot: isBot } = found.user;
    return {
      id,
      name: last === undefined ? first : `${first} ${last}`,
      status: found.status,
      bot: isBot,
      ...(username !== undefined && { username }),
    };
  });

const chatOf = (account: Account, to: Peer): Promise<Looked<ChatFacts>> =>
  lookUp(async () => {
    const found = await account.bot.calls.getChat({ chat_id: chatId(account, to) });
    const { id, type, title, username, description, first_name: name, pinned_message: pinned } = found;
    return {
      id,
      type,
      ...(title !== undefined && { title }),
      ...(name !== undefined && { name }),
      ...(username !== undefined && { username }),
      ...(description !== undefined && { description }),
      ...(pinned && {
        pinnedMessage: pinned.message_id,
        ...(pinned.text !== undefined && { pinnedText: pinned.text }),
      }),
    };
  });
