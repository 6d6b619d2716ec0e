import type { ChannelHost } from "openclaw/plugin-sdk";
import { wait } from "openclaw/plugin-sdk";
import type { Slack } from "./api.ts";
import { inTime } from "./cache.ts";
import { callbackShape, eventShape } from "./events.ts";
import type { Delivery, SlackMessage, Written } from "./events.ts";
import { reasonOf, wordOf } from "./failures.ts";
import { messagesOf } from "./threads.ts";

const MOST = 500;
/** Slack wants an event acknowledged within three seconds; the names of people are asked for as well. */
const WAIT_MS = 1500;
/** Milliseconds before each question: a history may have a message a moment after its event. */
const ASKED_AFTER = [0, 400];

/**
 * A mention in a channel comes as `app_mention`, and as `message` where the app subscribes to those, in any order. The first
 * of them may lack the files that the second has.
 */
export class Mentions {
  readonly #slack: Slack;
  readonly #host: Pick<ChannelHost, "log" | "signal">;
  /** What `message` events brought, by place. */
  readonly #told = new Map<string, SlackMessage>();
  /** Mentions that were passed on although Slack did not tell whether they have files. */
  readonly #doubtful = new Map<string, true>();
  #mayAsk = true;

  constructor(slack: Slack, host: Pick<ChannelHost, "log" | "signal">) {
    this.#slack = slack;
    this.#host = host;
  }

  /** Something was delivered, and waits to be read. */
  notice({ kind, payload }: Delivery): void {
    if (kind !== "events_api") return;
    const event = eventShape.safeParse(callbackShape.safeParse(payload).data?.event).data;
    if (event && "ts" in event && event.type === "message") keep(this.#told, keyOf(event), event);
  }

  /** A mention with the files that Slack has left out. Never rejects. */
  async whole(mention: Written): Promise<Written> {
    if (mention.files != null && mention.files.length > 0) return mention;
    const told = () => this.#told.get(keyOf(mention));
    const full = told() ?? (await inTime(this.#asked(mention), WAIT_MS)) ?? told();
    if (!full) keep(this.#doubtful, keyOf(mention), true);
    return full ? { ...mention, files: full.files, attachments: mention.attachments ?? full.attachments } : mention;
  }

  /** Whether a message has the files of a mention that was passed on without them. */
  isLate(event: Written): boolean {
    return event.type === "message" && (event.files?.length ?? 0) > 0 && this.#doubtful.delete(keyOf(event));
  }

  async #asked(mention: Written): Promise<SlackMessage | undefined> {
    for (const ms of ASKED_AFTER) {
      await wait(ms, this.#host.signal);
      const found = this.#mayAsk ? await this.#ask(mention) : undefined;
      if (found) return found;
    }
    return undefined;
  }

  async #ask({ channel, ts, thread_ts: thread }: Written): Promise<SlackMessage | undefined> {
    const { replies } = this.#slack.calls.conversations;
    try {
      const span = { oldest: ts, latest: ts, inclusive: true, limit: 2 };
      const { messages } = await replies({ channel, ts: thread ?? ts, ...span });
      return messagesOf(messages).find((message) => message.ts === ts);
    } catch (error) {
      if (wordOf(error) === "missing_scope") this.#mayAsk = false;
      this.#host.log.info("Slack does not tell whether a mention has files", { channel, reason: reasonOf(error) });
      return undefined;
    }
  }
}

const keyOf = ({ channel, ts }: Pick<Written, "channel" | "ts">): string => `${channel} ${ts}`;

function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MOST && oldest !== undefined) map.delete(oldest);
}
