import type { Slack } from "./api.ts";
import type { Self } from "./api.ts";
import { Cache } from "./cache.ts";
import { messageShape } from "./events.ts";
import type { SlackMessage } from "./events.ts";
import { threadOf } from "./parts.ts";

const WAIT_MS = 1500;
const KEEP_MS = 6 * 60 * 60_000;
const MOST = 500;
/** Messages of a thread that are read when it is first seen; Slack's most for one call is 1,000. */
const READ = 200;

/** A thread as it was when it was first seen. */
export interface Thread {
  readonly messages: readonly SlackMessage[];
  /** The bot began it or wrote in it. */
  readonly hasBot: boolean;
}

/** What is known of threads. Never rejects. */
export class Threads {
  readonly #slack: Slack;
  readonly #self: Self;
  readonly #known = new Cache<Thread>(MOST, KEEP_MS);
  readonly #joined = new Set<string>();
  readonly #seen = new Set<string>();
  readonly #inherited = new Set<string>();
  readonly #before = new Cache<readonly SlackMessage[]>(MOST, KEEP_MS);
  /** The bot's own messages with their threads; empty in the main stream. */
  readonly #own = new Map<string, string>();

  constructor(slack: Slack, self: Self) {
    this.#slack = slack;
    this.#self = self;
  }

  /** Asks Slack once. Undefined when it does not tell in time. */
  async read(channel: string, ts: string): Promise<Thread | undefined> {
    const ask = async (): Promise<Thread> => {
      const answer = await this.#slack.calls.conversations.replies({ channel, ts, limit: READ });
      const messages = messagesOf(answer.messages);
      return { messages, hasBot: messages.some((message) => isOwn(message, this.#self)) };
    };
    return this.#known.get(keyOf(channel, ts), ask, WAIT_MS);
  }

  /** True for the first message of a thread that comes while this connection lives. */
  isFirstSight(channel: string, ts: string): boolean {
    return remember(this.#seen, keyOf(channel, ts));
  }

  /** True once for a thread while this connection lives: what its channel said before it is told once. */
  inherits(channel: string, ts: string): boolean {
    return remember(this.#inherited, keyOf(channel, ts));
  }

  /** The messages of the channel's main stream before a message, oldest first; none when Slack does not tell in time. */
  async before(channel: string, ts: string, limit: number): Promise<readonly SlackMessage[]> {
    const ask = async (): Promise<readonly SlackMessage[]> => {
      const answer = await this.#slack.calls.conversations.history({ channel, latest: ts, limit });
      return messagesOf(answer.messages).toReversed();
    };
    return (await this.#before.get(keyOf(channel, ts), ask, WAIT_MS)) ?? [];
  }

  /** The bot wrote a message. */
  wrote(channel: string, ts: string, thread: string | undefined): void {
    this.#own.set(keyOf(channel, ts), thread ?? "");
    const [oldest] = this.#own.keys();
    if (this.#own.size > MOST && oldest !== undefined) this.#own.delete(oldest);
    if (thread !== undefined) this.join(channel, thread);
  }

  /** The thread that a message of the bot's stands in. Slack is asked about one of an earlier connection. */
  async ofOwn(channel: string, ts: string): Promise<string | undefined> {
    const known = this.#own.get(keyOf(channel, ts));
    if (known !== undefined) return known || undefined;
    const [found] = (await this.read(channel, ts))?.messages ?? [];
    return found && threadOf({ ts, thread_ts: found.thread_ts });
  }

  /** The bot wrote in it. */
  join(channel: string, ts: string): void {
    remember(this.#joined, keyOf(channel, ts));
  }

  async hasBot(channel: string, ts: string): Promise<boolean> {
    return this.#joined.has(keyOf(channel, ts)) || (await this.read(channel, ts))?.hasBot === true;
  }
}

const keyOf = (channel: string, ts: string): string => `${channel} ${ts}`;

/** Whether it was not there; the oldest goes when there are too many. */
function remember(set: Set<string>, key: string): boolean {
  if (set.has(key)) return false;
  set.add(key);
  const [oldest] = set;
  if (set.size > MOST && oldest !== undefined) set.delete(oldest);
  return true;
}

/** What the bot itself wrote. */
export const isOwn = (message: Pick<SlackMessage, "user" | "bot_id">, self: Self): boolean =>
  message.user === self.userId || (message.bot_id != null && message.bot_id === self.botId);

/** The messages of a history that can be read. */
export const messagesOf = (messages: readonly unknown[] | undefined): readonly SlackMessage[] =>
  (messages ?? []).flatMap((message) => messageShape.safeParse(message).data ?? []);
