import { background } from "openclaw/plugin-sdk";
import type { ChannelHost, ChannelLog } from "openclaw/plugin-sdk";
import { z } from "zod";
import type { Self, Slack } from "../transport/api.ts";
import { Cache } from "../cache.ts";
import { messageShape } from "./events.ts";
import type { SlackMessage } from "./events.ts";
import { PersistentList } from "../outbound/persistent-list.ts";
import { threadOf } from "./message-parts.ts";

const WAIT_MS = 1500;
const KEEP_MS = 6 * 60 * 60_000;
const MAX_ENTRIES = 500;
/** What is read of a thread when it is first seen: Slack gives the oldest first, and at most so many in one call. */
const PAGE = 999;
const PAGES = 5;
/** Answers of a thread that are kept; no more are ever told. */
const KEPT = 200;

/** A message, and an edit of it, which is another. */
type Version = Pick<SlackMessage, "ts" | "edited">;

/** A thread as it was when it was first seen. */
export interface Thread {
  /** The first message and the last answers, oldest first. */
  readonly messages: readonly SlackMessage[];
  /** The bot began it or wrote in it. */
  readonly hasBot: boolean;
  /** The bot wrote in it after its beginning. */
  readonly hasAnswer: boolean;
}

/** What is known of threads. Never rejects. */
export class Threads {
  readonly #slack: Slack;
  readonly #self: Self;
  readonly #log: ChannelLog;
  readonly #noted: PersistentList<string>;
  readonly #restored: Promise<void>;
  readonly #known = new Cache<Thread>(MAX_ENTRIES, KEEP_MS);
  readonly #joined = new Set<string>();
  /** By thread, the message that came first. */
  readonly #seen = new Map<string, string>();
  readonly #inherited = new Map<string, string>();
  readonly #before = new Cache<readonly SlackMessage[]>(MAX_ENTRIES, KEEP_MS);
  /** The bot's own messages with their threads; empty in the main stream. */
  readonly #own = new Map<string, string>();

  constructor(slack: Slack, self: Self, { notes, log }: Pick<ChannelHost, "notes" | "log">) {
    this.#slack = slack;
    this.#self = self;
    this.#log = log;
    this.#noted = new PersistentList({ notes, name: "threads", item: z.string(), most: MAX_ENTRIES });
    this.#restored = this.#restore();
  }

  /** Asks Slack once. Undefined when it does not tell in time. */
  async read(channel: string, ts: string): Promise<Thread | undefined> {
    return this.#known.get(keyOf(channel, ts), async () => this.#ask(channel, ts), WAIT_MS);
  }

  async #ask(channel: string, ts: string): Promise<Thread> {
    let first: readonly SlackMessage[] = [];
    const answers: SlackMessage[] = [];
    for (let page = 0, cursor = ""; page === 0 || (cursor !== "" && page < PAGES); page++) {
      const request = { channel, ts, limit: PAGE, ...(cursor !== "" && { cursor }) };
      const answer = await this.#slack.calls.conversations.replies(request);
      const messages = messagesOf(answer.messages);
      // The first message comes with every page.
      first = messages.filter((message) => message.ts === ts);
      answers.push(...messages.filter((message) => message.ts !== ts));
      cursor = answer.response_metadata?.next_cursor ?? "";
    }
    const hasAnswer = answers.some((message) => isOwn(message, this.#self));
    const hasBot = hasAnswer || first.some((message) => isOwn(message, this.#self));
    return { messages: [...first, ...answers.slice(-KEPT)], hasBot, hasAnswer };
  }

  /** True for the first message of a thread that comes while this connection lives, for all copies of it. */
  isFirstMessage(channel: string, ts: string, message: Version): boolean {
    return claim(this.#seen, keyOf(channel, ts), message);
  }

  /** True for one message of a thread while this connection lives: what its channel said before it is told once. */
  claimsChannelHistory(channel: string, ts: string, message: Version): boolean {
    return claim(this.#inherited, keyOf(channel, ts), message);
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
  noteOwnMessage(channel: string, ts: string, thread: string | undefined): void {
    this.#own.set(keyOf(channel, ts), thread ?? "");
    const [oldest] = this.#own.keys();
    if (this.#own.size > MAX_ENTRIES && oldest !== undefined) this.#own.delete(oldest);
    if (thread !== undefined) this.join(channel, thread);
  }

  /** The thread that a message of the bot's stands in. Slack is asked about one of an earlier connection. */
  async threadOfOwn(channel: string, ts: string): Promise<string | undefined> {
    const known = this.#own.get(keyOf(channel, ts));
    if (known !== undefined) return known || undefined;
    const [found] = (await this.read(channel, ts))?.messages ?? [];
    return found && threadOf({ ts, thread_ts: found.thread_ts });
  }

  /** The bot wrote in it, which is noted: a later start need not ask Slack. */
  join(channel: string, ts: string): void {
    const key = keyOf(channel, ts);
    if (remember(this.#joined, key)) background("note of a thread", this.#note(key));
  }

  async #note(key: string): Promise<void> {
    try {
      if (!(await this.#noted.all()).includes(key)) await this.#noted.add(key);
    } catch (error) {
      this.#log.warn("a thread of the bot could not be noted", { error: String(error) });
    }
  }

  async #restore(): Promise<void> {
    try {
      for (const key of await this.#noted.all()) remember(this.#joined, key);
    } catch (error) {
      this.#log.warn("the threads of the bot could not be read", { error: String(error) });
    }
  }

  async hasBot(channel: string, ts: string): Promise<boolean> {
    await this.#restored;
    return this.#joined.has(keyOf(channel, ts)) || (await this.read(channel, ts))?.hasBot === true;
  }
}

const keyOf = (channel: string, ts: string): string => `${channel} ${ts}`;

/** Whether it was not there; the oldest goes when there are too many. */
function remember(set: Set<string>, key: string): boolean {
  if (set.has(key)) return false;
  set.add(key);
  const [oldest] = set;
  if (set.size > MAX_ENTRIES && oldest !== undefined) set.delete(oldest);
  return true;
}

/** Whether it is the message that claimed the key, or the first to do so; the oldest claim goes when there are too many. */
function claim(claims: Map<string, string>, key: string, { ts, edited }: Version): boolean {
  const version = `${ts} ${edited?.ts ?? ""}`;
  const holder = claims.get(key) ?? version;
  claims.set(key, holder);
  const [oldest] = claims.keys();
  if (claims.size > MAX_ENTRIES && oldest !== undefined) claims.delete(oldest);
  return holder === version;
}

/** What the bot itself wrote. */
export const isOwn = (message: Pick<SlackMessage, "user" | "bot_id">, self: Self): boolean =>
  message.user === self.userId || (message.bot_id != null && message.bot_id === self.botId);

/** The messages of a history that can be read. */
export const messagesOf = (messages: readonly unknown[] | undefined): readonly SlackMessage[] =>
  (messages ?? []).flatMap((message) => messageShape.safeParse(message).data ?? []);
