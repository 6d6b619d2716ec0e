import { wait } from "openclaw/plugin-sdk";
import type { InboundMessage } from "openclaw/plugin-sdk";
import { messagesOf } from "./inbound/threads.ts";
import type { SlackMessage } from "./events.ts";
import { outcomeOf, reasonOf, errorCodeOf } from "./transport/failures.ts";
import { readMessageOrLateFiles } from "./inbound/inbound.ts";
import type { ReadContext } from "./inbound/read-context.ts";
import type { AccountContext } from "./outbound/account-context.ts";

const PAGE = 200;
const PAGES = 5;
/** A thread that began within this time before the gap is found by its first message, which names its latest answer. */
const LOOKBACK_SECONDS = 24 * 60 * 60;
/** Older threads that are asked about: each takes a call, of which Slack allows about 50 in a minute. */
const OLDER_THREADS = 100;
const TRIES = 5;
const LONGEST_WAIT_MS = 60_000;

/**
 * The messages of people since an epoch millisecond in every chat of the bot. A chat that Slack refuses to show is left
 * out and logged once. Throws the errors of the Web API client when Slack may answer another time.
 */
export async function missedSince(
  account: AccountContext,
  contextNow: () => ReadContext,
  since: number,
): Promise<readonly InboundMessage[]> {
  const { self, threads } = contextNow();
  const chats = await listChats(account);
  const found: Found[] = [];
  for (const channel of chats) {
    for (const message of await newMessages(account, channel, since / 1000)) found.push({ channel, message });
  }
  const known = new Set(found.map(({ channel, message }) => `${channel} ${message.ts}`));
  for (const answer of await olderAnswers(account, threads, { chats, since: since / 1000 })) {
    // An answer may be shown in the channel too.
    if (!known.has(`${answer.channel} ${answer.message.ts}`)) found.push(answer);
  }
  const messages: InboundMessage[] = [];
  for (const { channel, message } of found.toSorted((a, b) => Number(a.message.ts) - Number(b.message.ts))) {
    const read = await readMessageOrLateFiles(message, { channel, teamId: self.teamId }, contextNow());
    if (read) messages.push(read);
  }
  return messages;
}

interface Found {
  readonly channel: string;
  readonly message: SlackMessage;
}

/**
 * The new messages in threads of the bot that began before the messages that `newMessages` looks at. Of very many threads only those
 * are asked about in which the bot wrote last.
 */
async function olderAnswers(
  account: AccountContext,
  threads: ReadContext["threads"],
  { chats, since }: { readonly chats: readonly string[]; readonly since: number },
): Promise<readonly Found[]> {
  const own = await threads.own();
  const older = own.filter(({ channel, ts }) => chats.includes(channel) && Number(ts) <= since - LOOKBACK_SECONDS);
  const left = older.length - OLDER_THREADS;
  if (left > 0) {
    account.host.log.warn("missed messages are requested of a part of the bot's older threads only", {
      requested: OLDER_THREADS,
      left,
    });
  }
  const found: Found[] = [];
  for (const thread of older.slice(0, OLDER_THREADS)) {
    const { channel, ts } = thread;
    const answers = await unlessRefused(account, `${channel} ${ts}`, repliesOf(account, thread, since), []);
    found.push(...answers.map((message) => ({ channel, message })));
  }
  return found;
}

const TYPES = ["im", "mpim", "private_channel", "public_channel"];

async function listChats(account: AccountContext): Promise<readonly string[]> {
  try {
    return await listChatsOfTypes(account, TYPES);
  } catch (error) {
    if (errorCodeOf(error) !== "missing_scope") throw error;
  }
  // Slack lists no chats at all when the app may not see one of the types, so each type is asked for alone.
  const found: string[] = [];
  for (const type of TYPES)
    found.push(...(await unlessRefused(account, `type ${type}`, listChatsOfTypes(account, [type]), [])));
  return found;
}

async function listChatsOfTypes(account: AccountContext, types: readonly string[]): Promise<readonly string[]> {
  const request = { types: types.join(","), exclude_archived: true, limit: PAGE };
  const { host, slack } = account;
  const { conversations } = slack.calls.users;
  const found = await readPages(account, async (cursor) => {
    const answer = await conversations({ ...request, ...cursor });
    return { items: answer.channels ?? [], next: answer.response_metadata?.next_cursor };
  });
  if (found.next !== undefined) host.log.warn("missed messages are requested of a part of the chats only", { types });
  return found.items.flatMap(({ id, is_user_deleted: isGone }) => (id === undefined || isGone === true ? [] : [id]));
}

/** The new messages of a chat, including messages in threads. */
async function newMessages(account: AccountContext, channel: string, since: number): Promise<readonly SlackMessage[]> {
  const oldest = String(since - LOOKBACK_SECONDS);
  const request = readPages(account, async (cursor) => {
    const answer = await account.slack.calls.conversations.history({ channel, oldest, limit: PAGE, ...cursor });
    return { items: messagesOf(answer.messages), next: answer.response_metadata?.next_cursor };
  });
  const { items: all, next } = await unlessRefused(account, channel, request, NONE);
  const main = all.filter(({ ts }) => Number(ts) > since);
  const parents = all.filter(({ latest_reply: latest }) => latest != null && Number(latest) > since);
  // Slack returns the newest messages first.
  if (next !== undefined && main.length === all.length) {
    account.host.log.warn("only a part of a chat's missed messages was requested", { channel, requested: all.length });
  }
  const answers: SlackMessage[] = [];
  for (const { ts } of parents) {
    answers.push(...(await unlessRefused(account, `${channel} ${ts}`, repliesOf(account, { channel, ts }, since), [])));
  }
  return [...main, ...answers.filter((answer) => main.every(({ ts }) => ts !== answer.ts))];
}

/** Returns `none` when Slack refuses for good, so that one chat that the bot may not read does not affect the others. */
async function unlessRefused<T>(
  { host, unreadable }: AccountContext,
  place: string,
  request: Promise<T>,
  none: T,
): Promise<T> {
  try {
    return await request;
  } catch (error) {
    if (outcomeOf(error).kind !== "refused") throw error;
    if (!unreadable.has(place))
      host.log.warn("missed messages could not be requested", { place, reason: reasonOf(error) });
    unreadable.add(place);
    return none;
  }
}

async function repliesOf(
  account: AccountContext,
  thread: { channel: string; ts: string },
  since: number,
): Promise<SlackMessage[]> {
  const { items } = await readPages(account, async (cursor) => {
    const request = { ...thread, oldest: String(since), limit: PAGE, ...cursor };
    const answer = await account.slack.calls.conversations.replies(request);
    return { items: messagesOf(answer.messages), next: answer.response_metadata?.next_cursor };
  });
  // Every page begins with the first message of the thread.
  return items.filter(({ ts }) => ts !== thread.ts && Number(ts) > since);
}

interface Page<Item> {
  readonly items: readonly Item[];
  readonly next: string | undefined;
}
const NONE: Page<never> = { items: [], next: undefined };

/** The items of all pages. `next` is set when there are more pages than are read. */
async function readPages<Item>(
  account: AccountContext,
  ask: (cursor: { cursor?: string }) => Promise<Page<Item>>,
): Promise<Page<Item>> {
  const items: Item[] = [];
  let next: string | undefined;
  for (let page = 0; page < PAGES; page++) {
    const cursor = next ? { cursor: next } : {};
    const answer = await withRateLimit(account, async () => ask(cursor));
    items.push(...answer.items);
    next = answer.next || undefined;
    if (next === undefined) break;
  }
  return { items, next };
}

/** Waits for as long as Slack's rate limit asks: reading many chats takes more calls than it allows in a minute. */
async function withRateLimit<T>({ host }: AccountContext, ask: () => Promise<T>): Promise<T> {
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
