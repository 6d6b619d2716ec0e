import type { ChatActions, ChatFacts, Looked, Peer, ReadQuery, SeenMessage } from "openclaw/plugin-sdk";
import type { AccountContext } from "./account-context.ts";
import { messagesOf } from "../inbound/threads.ts";
import type { SlackMessage } from "../events.ts";
import { filesOf, wholeText } from "../inbound/message-parts.ts";
import { outcomeOf } from "../transport/failures.ts";
import { isTs } from "./send.ts";

/**
 * Actions of an app in a conversation besides sending messages. Slack's apps have no polls, and search needs a person's
 * token.
 */
export function actions(account: AccountContext): ChatActions {
  const { conversations, emoji, pins, reactions, users } = account.slack.calls;
  return {
    async pin(to, messageId, isPinned) {
      if (!isTs(messageId)) return { kind: "refused", reason: `${messageId} is not a message id` };
      try {
        const message = { channel: await account.channelIds.of(to), timestamp: messageId };
        await (isPinned ? pins.add(message) : pins.remove(message));
        return { kind: "sent", messageId };
      } catch (error) {
        return outcomeOf(error);
      }
    },
    pins: (to) =>
      lookUp(account, to, async (channel) => {
        const { items = [] } = await pins.list({ channel });
        return items.flatMap((item) => ("message" in item ? messagesOf([item.message]) : [])).map(seen);
      }),
    read: (to, query) => lookUp(account, to, (channel) => read(account, { ...to, channel }, query)),
    reactions: (to, timestamp) =>
      lookUp(account, to, async (channel) => {
        const { message } = await reactions.get({ channel, timestamp, full: true });
        return (message?.reactions ?? []).map(({ name = "", count = 0 }) => ({ emoji: `:${name}:`, count }));
      }),
    member: (to, user) =>
      lookUp(account, to, async (): Promise<ChatFacts> => {
        const { user: found = {} } = await users.info({ user });
        const { id, name, real_name: realName, is_bot: isBot, tz, profile } = found;
        return facts({ id, name, realName, title: profile?.title, bot: isBot, timezone: tz });
      }),
    chat: (to) =>
      lookUp(account, to, async (channel): Promise<ChatFacts> => {
        const { channel: found = {} } = await conversations.info({ channel, include_num_members: true });
        const { id, name, topic, purpose, num_members: members, is_private: isPrivate } = found;
        return facts({ id, name, topic: topic?.value, purpose: purpose?.value, members, private: isPrivate });
      }),
    emojis: (to) =>
      lookUp(account, to, async () => {
        const { emoji: found = {} } = await emoji.list();
        return Object.keys(found).map((name) => `:${name}:`);
      }),
  };
}

/** Asks about the conversation that `to` means. Never rejects. */
async function lookUp<T>(account: AccountContext, to: Peer, ask: (channel: string) => Promise<T>): Promise<Looked<T>> {
  try {
    return { kind: "found", value: await ask(await account.channelIds.of(to)) };
  } catch (error) {
    const outcome = outcomeOf(error);
    return outcome.kind === "sent" ? { kind: "unknown", reason: "no answer" } : outcome;
  }
}

/** Messages of a chat, or of a thread when the chat names one. Slack's spans leave their ends out. */
async function read(
  { slack }: AccountContext,
  { channel, thread }: { readonly channel: string; readonly thread?: string },
  { limit, before, after, around }: ReadQuery,
): Promise<readonly SeenMessage[]> {
  const span = {
    ...(before !== undefined && { latest: before }),
    ...(after !== undefined && { oldest: after }),
    ...(around !== undefined && { latest: around, inclusive: true }),
  };
  const { conversations } = slack.calls;
  const asked = { channel, limit, ...span };
  const answer = await (thread === undefined
    ? conversations.history(asked)
    : conversations.replies({ ...asked, ts: thread }));
  return messagesOf(answer.messages)
    .toSorted((a, b) => Number(a.ts) - Number(b.ts))
    .map(seen);
}

function seen(message: SlackMessage): SeenMessage {
  const { ts, user, bot_id: bot } = message;
  return {
    id: ts,
    sender: user ?? bot ?? "unknown",
    at: Math.round(Number(ts) * 1000),
    text: wholeText(message),
    files: filesOf(message).flatMap(({ name }) => name ?? []),
  };
}

/** The facts that Slack has a value for. */
const facts = (all: Readonly<Record<string, string | number | boolean | undefined>>): ChatFacts =>
  Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === undefined || value === "" ? [] : [[name, value]])),
  );
