import { wait } from "openclaw/plugin-sdk";
import type { InboundMessage } from "openclaw/plugin-sdk";
import { messagesOf } from "./threads.ts";
import type { SlackMessage } from "./events.ts";
import { outcomeOf } from "./failures.ts";
import { readMessage } from "./inbound.ts";
import type { View } from "./view.ts";
import type { Room } from "./room.ts";

const PAGE = 200;
const PAGES = 5;
/** A thread that began so long before may have new answers. */
const LOOK_BACK_SECONDS = 24 * 60 * 60;
const TRIES = 5;
const LONGEST_WAIT_MS = 60_000;

/** What people wrote since an epoch millisecond in every chat of the bot. Throws what the Web API client throws. */
export async function missedSince(room: Room, view: View, since: number): Promise<readonly InboundMessage[]> {
  const found: { readonly channel: string; readonly message: SlackMessage }[] = [];
  for (const channel of await chats(room)) {
    for (const message of await unread(room, channel, since / 1000)) found.push({ channel, message });
  }
  const messages: InboundMessage[] = [];
  for (const { channel, message } of found.toSorted((a, b) => Number(a.message.ts) - Number(b.message.ts))) {
    const read = await readMessage(message, { channel, teamId: view.self.teamId }, view);
    if (read) messages.push(read);
  }
  return messages;
}

async function chats(room: Room): Promise<readonly string[]> {
  const request = { types: "im,mpim,private_channel,public_channel", exclude_archived: true, limit: PAGE };
  const { conversations } = room.slack.calls.users;
  const found = await pages(room, async (cursor) => {
    const answer = await conversations({ ...request, ...cursor });
    return { items: answer.channels ?? [], next: answer.response_metadata?.next_cursor };
  });
  return found.flatMap(({ id, is_user_deleted: isGone }) => (id === undefined || isGone === true ? [] : [id]));
}

/** The new messages of a chat, those in threads included. */
async function unread(room: Room, channel: string, since: number): Promise<readonly SlackMessage[]> {
  const oldest = String(since - LOOK_BACK_SECONDS);
  const all = await pages(room, async (cursor) => {
    const answer = await room.slack.calls.conversations.history({ channel, oldest, limit: PAGE, ...cursor });
    return { items: messagesOf(answer.messages), next: answer.response_metadata?.next_cursor };
  });
  const main = all.filter(({ ts }) => Number(ts) > since);
  const parents = all.filter(({ latest_reply: latest }) => latest != null && Number(latest) > since);
  const answers: SlackMessage[] = [];
  for (const { ts } of parents) answers.push(...(await repliesOf(room, { channel, ts }, since)));
  return [...main, ...answers.filter((answer) => main.every(({ ts }) => ts !== answer.ts))];
}

async function repliesOf(room: Room, thread: { channel: string; ts: string }, since: number): Promise<SlackMessage[]> {
  const all = await pages(room, async (cursor) => {
    const request = { ...thread, oldest: String(since), limit: PAGE, ...cursor };
    const answer = await room.slack.calls.conversations.replies(request);
    return { items: messagesOf(answer.messages), next: answer.response_metadata?.next_cursor };
  });
  // The first message of a thread comes with every page.
  return all.filter(({ ts }) => ts !== thread.ts && Number(ts) > since);
}

interface Page<Item> {
  readonly items: readonly Item[];
  readonly next: string | undefined;
}

async function pages<Item>(room: Room, ask: (cursor: { cursor?: string }) => Promise<Page<Item>>): Promise<Item[]> {
  const all: Item[] = [];
  let cursor: { cursor?: string } = {};
  for (let page = 0; page < PAGES; page++) {
    const { items, next } = await patiently(room, async () => ask(cursor));
    all.push(...items);
    if (!next) break;
    cursor = { cursor: next };
  }
  return all;
}

/** Waits as long as Slack asks for: reading many chats takes more calls than it allows in a minute. */
async function patiently<T>({ host }: Room, ask: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    host.signal.throwIfAborted();
    try {
      return await ask();
    } catch (error) {
      const outcome = outcomeOf(error);
      if (outcome.kind !== "retry" || outcome.rateLimited !== true || tries >= TRIES) throw error;
      await wait(Math.min(outcome.afterMs ?? 1000, LONGEST_WAIT_MS), host.signal);
    }
  }
}
