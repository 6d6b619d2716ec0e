import { background, BoundedMap } from "openclaw/plugin-sdk";
import type { ChannelHost, ChannelLog } from "openclaw/plugin-sdk";
import { z } from "zod";
import type { Self, Slack } from "../transport/api.ts";
import { Cache } from "../cache.ts";
import { messageShape } from "../events.ts";
import type { SlackMessage } from "../events.ts";
import { PersistentList } from "../persistent-list.ts";
import { threadOf } from "./message-parts.ts";

const KEEP_MS = 6 * 60 * 60_000;
const MAX_ENTRIES = 500;
/** Size and maximum number of the pages that are read of a new thread. Slack returns the oldest messages first. */
const PAGE = 999;
const PAGES = 5;
/** Maximum number of answers that are kept of a thread, which is the most that an agent is ever shown. */
const KEPT = 200;

/** Number of threads in which the bot wrote last; the order among these is not noted. */
const RECENT = 20;

/** Names one version of a message: each edit is another version. */
type Version = Pick<SlackMessage, "ts" | "edited">;

/** A thread as it was when it was first read. */
export interface Thread {
  /** The first message and the last answers, oldest first. */
  readonly messages: readonly SlackMessage[];
  /** True when the bot began the thread or wrote in it. */
  readonly hasBot: boolean;
  /** True when the bot wrote in the thread after its first message. */
  readonly hasAnswer: boolean;
}

/** The threads of an account: their messages, and the threads that the bot takes part in. Never rejects. */
export class Threads {
  readonly #slack: Slack;
  readonly #self: Self;
  readonly #log: ChannelLog;
  readonly #noted: PersistentList<string>;
  readonly #restored: Promise<void>;
  readonly #known = new Cache<Thread>(MAX_ENTRIES, KEEP_MS);
  readonly #joined = new BoundedMap<string, true>(MAX_ENTRIES);
  /** The first message on this connection, by thread. */
  readonly #seen = new BoundedMap<string, string>(MAX_ENTRIES);
  /** The message that brought a thread's earlier messages, by thread. */
  readonly #told = new BoundedMap<string, string>(MAX_ENTRIES);
  readonly #inherited = new BoundedMap<string, string>(MAX_ENTRIES);
  readonly #before = new Cache<readonly SlackMessage[]>(MAX_ENTRIES, KEEP_MS);
  /** The thread of each of the bot's own messages; empty for the main stream. */
  readonly #own = new BoundedMap<string, string>(MAX_ENTRIES);

  constructor(slack: Slack, self: Self, { notes, log }: Pick<ChannelHost, "notes" | "log">) {
    this.#slack = slack;
    this.#self = self;
    this.#log = log;
    this.#noted = new PersistentList({ notes, name: "threads", item: z.string(), most: MAX_ENTRIES });
    this.#restored = this.#restore();
  }

  /** Reads a thread once. Undefined when Slack does not answer until then. */
  async read(channel: string, ts: string, until: number): Promise<Thread | undefined> {
    return this.#known.get(keyOf(channel, ts), async () => this.#ask(channel, ts), until);
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

  /** Notes a message of a thread; gives back the first one on this connection. The gateway itself keeps later ones. */
  firstSeen(channel: string, ts: string, message: Version): string {
    const key = keyOf(channel, ts);
    const known = this.#seen.get(key);
    const first = known !== undefined && Number(known) < Number(message.ts) ? known : message.ts;
    this.#seen.set(key, first);
    return first;
  }

  /** True for one message of a thread on this connection, so that its earlier messages are shown to the agent once. */
  claimsHistory(channel: string, ts: string, message: Version): boolean {
    return claim(this.#told, keyOf(channel, ts), message);
  }

  /** True for one message of a thread on this connection, so that the channel's history is shown to the agent once. */
  claimsChannelHistory(channel: string, ts: string, message: Version): boolean {
    return claim(this.#inherited, keyOf(channel, ts), message);
  }

  /** The messages before a message in the channel's main stream, oldest first. Empty when Slack does not answer until then. */
  async before(
    channel: string,
    ts: string,
    { limit, until }: { limit: number; until: number },
  ): Promise<readonly SlackMessage[]> {
    const ask = async (): Promise<readonly SlackMessage[]> => {
      const answer = await this.#slack.calls.conversations.history({ channel, latest: ts, limit });
      return messagesOf(answer.messages).toReversed();
    };
    return (await this.#before.get(keyOf(channel, ts), ask, until)) ?? [];
  }

  /** Notes a message of the bot, and that the bot takes part in its thread. */
  noteOwnMessage(channel: string, ts: string, thread: string | undefined): void {
    this.#own.set(keyOf(channel, ts), thread ?? "");
    if (thread !== undefined) this.join(channel, thread);
  }

  /** The thread of one of the bot's messages. Slack is asked about a message of an earlier connection. */
  async threadOfOwn(channel: string, ts: string, until: number): Promise<string | undefined> {
    const known = this.#own.get(keyOf(channel, ts));
    if (known !== undefined) return known || undefined;
    const [found] = (await this.read(channel, ts, until))?.messages ?? [];
    return found && threadOf({ ts, thread_ts: found.thread_ts });
  }

  /**
   * Notes that the bot wrote in a thread: a later start need not ask Slack for that, and requests missed messages
   * there.
   */
  join(channel: string, ts: string): void {
    const key = keyOf(channel, ts);
    const recent = [...this.#joined.keys()].slice(-RECENT);
    if (recent.includes(key)) return;
    this.#joined.set(key, true);
    background("note of a thread", this.#note(key));
  }

  /** The threads in which the bot wrote, the latest first. May throw the errors of the notes. */
  async own(): Promise<readonly { readonly channel: string; readonly ts: string }[]> {
    return (await this.#noted.all()).toReversed().map((key) => {
      const [channel = "", ts = ""] = key.split(" ");
      return { channel, ts };
    });
  }

  async #note(key: string): Promise<void> {
    try {
      await this.#noted.add(key);
    } catch (error) {
      this.#log.warn("a thread of the bot could not be noted", { error: String(error) });
    }
  }

  async #restore(): Promise<void> {
    try {
      for (const key of await this.#noted.all()) this.#joined.set(key, true);
    } catch (error) {
      this.#log.warn("the threads of the bot could not be read", { error: String(error) });
    }
  }

  async hasBot(channel: string, ts: string, until: number): Promise<boolean> {
    await this.#restored;
    return this.#joined.has(keyOf(channel, ts)) || (await this.read(channel, ts, until))?.hasBot === true;
  }
}

const keyOf = (channel: string, ts: string): string => `${channel} ${ts}`;

/** True when this version of a message holds the claim on the key, or takes it now. */
function claim(claims: Map<string, string>, key: string, { ts, edited }: Version): boolean {
  const version = `${ts} ${edited?.ts ?? ""}`;
  const holder = claims.get(key) ?? version;
  claims.set(key, holder);
  return holder === version;
}

/** Whether the bot itself wrote the message. */
export const isOwn = (message: Pick<SlackMessage, "user" | "bot_id">, self: Self): boolean =>
  message.user === self.userId || (message.bot_id != null && message.bot_id === self.botId);

/** The messages of a history whose shape is known. */
export const messagesOf = (messages: readonly unknown[] | undefined): readonly SlackMessage[] =>
  (messages ?? []).flatMap((message) => messageShape.safeParse(message).data ?? []);
