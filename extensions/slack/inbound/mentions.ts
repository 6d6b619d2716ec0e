import type { ChannelHost } from "openclaw/plugin-sdk";
import { BoundedMap, wait } from "openclaw/plugin-sdk";
import { z } from "zod";
import type { Slack } from "../transport/api.ts";
import { byThen } from "../cache.ts";
import { callbackShape, eventShape } from "../events.ts";
import type { Delivery, SlackMessage, MessageEvent } from "../events.ts";
import { reasonOf, errorCodeOf } from "../transport/failures.ts";
import { PersistentList } from "../persistent-list.ts";
import { messagesOf } from "./threads.ts";

const MAX_ENTRIES = 500;
/** Milliseconds before each request: a history may get a message a moment after its event. */
const ASK_DELAYS_MS = [0, 400];

type MentionsHost = Pick<ChannelHost, "log" | "notes" | "signal">;

/**
 * Joins the two events of a mention. A mention in a channel comes as `app_mention`, and as `message` where the app
 * subscribes to messages, in any order. The first event may lack the files that the second has.
 */
export class Mentions {
  readonly #slack: Slack;
  readonly #host: MentionsHost;
  /** The messages of `message` events, by chat and time. */
  readonly #messages = new BoundedMap<string, SlackMessage>(MAX_ENTRIES);
  /**
   * Mentions that were passed on while it was unknown whether they have files. They are noted, because the files may
   * come later.
   */
  readonly #doubtful = new BoundedMap<string, true>(MAX_ENTRIES);
  readonly #noted: PersistentList<string>;
  #mayAsk = true;

  constructor(slack: Slack, host: MentionsHost) {
    this.#slack = slack;
    this.#host = host;
    this.#noted = new PersistentList({
      notes: host.notes,
      name: "doubtful-mentions",
      item: z.string(),
      most: MAX_ENTRIES,
    });
  }

  /** Called for each delivery before it is read. */
  observe({ kind, payload }: Delivery): void {
    if (kind !== "events_api") return;
    const event = eventShape.safeParse(callbackShape.safeParse(payload).data?.event).data;
    if (event && "ts" in event && event.type === "message") this.#messages.set(keyOf(event), event);
  }

  /** The mention, with the files that Slack left out of its event. Never rejects. */
  async withFiles(mention: MessageEvent, until: number): Promise<MessageEvent> {
    if (mention.files != null && mention.files.length > 0) return mention;
    const delivered = () => this.#messages.get(keyOf(mention));
    const full = delivered() ?? (await byThen(this.#askRepeatedly(mention), until)) ?? delivered();
    if (!full) await this.#doubt(keyOf(mention));
    return full ? { ...mention, files: full.files, attachments: mention.attachments ?? full.attachments } : mention;
  }

  /**
   * Whether a message has the files of a mention that was passed on without them. The result stays the same, because the message
   * may be read again until it is stored. Never rejects.
   */
  async hasLateFiles({ files, ...place }: Pick<MessageEvent, "channel" | "ts" | "files">): Promise<boolean> {
    if (files == null || files.length === 0) return false;
    const key = keyOf(place);
    return this.#doubtful.has(key) || (await this.#doubts()).includes(key);
  }

  /** Resolves when the note is durable, which is before the mention is. */
  async #doubt(key: string): Promise<void> {
    this.#doubtful.set(key, true);
    try {
      if (!(await this.#noted.all()).includes(key)) await this.#noted.add(key);
    } catch (error) {
      this.#host.log.warn("a mention whose files may come later could not be noted", { error: String(error) });
    }
  }

  async #doubts(): Promise<readonly string[]> {
    try {
      return await this.#noted.all();
    } catch (error) {
      this.#host.log.warn("the mentions whose files may come later could not be read", { error: String(error) });
      return [];
    }
  }

  async #askRepeatedly(mention: MessageEvent): Promise<SlackMessage | undefined> {
    for (const ms of ASK_DELAYS_MS) {
      await wait(ms, this.#host.signal);
      const found = this.#mayAsk ? await this.#ask(mention) : undefined;
      if (found) return found;
    }
    return undefined;
  }

  async #ask({ channel, ts, thread_ts: thread }: MessageEvent): Promise<SlackMessage | undefined> {
    const { replies } = this.#slack.calls.conversations;
    try {
      const span = { oldest: ts, latest: ts, inclusive: true, limit: 2 };
      const { messages } = await replies({ channel, ts: thread ?? ts, ...span });
      return messagesOf(messages).find((message) => message.ts === ts);
    } catch (error) {
      if (errorCodeOf(error) === "missing_scope") this.#mayAsk = false;
      this.#host.log.info("the files of a mention could not be requested", { channel, reason: reasonOf(error) });
      return undefined;
    }
  }
}

const keyOf = ({ channel, ts }: Pick<MessageEvent, "channel" | "ts">): string => `${channel} ${ts}`;
