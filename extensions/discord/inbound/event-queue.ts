import { backoff, wait } from "openclaw/plugin-sdk";
import type { InboundMessage } from "openclaw/plugin-sdk";
import type { DispatchEvent } from "../connection.ts";
import { isBug, outcomeOf, reasonOf } from "../failures.ts";
import { eventChannel, readEvent } from "./inbound.ts";
import { unasking } from "../bot.ts";
import type { Bot } from "../bot.ts";

/** Events that are offered to the host at once. */
const BATCH = 50;
/** How long an event waits for answers of Discord, such as the name of its channel. Then the event is read without them. */
const PATIENCE_MS = 120_000;

interface Item {
  readonly session: string;
  readonly event: DispatchEvent;
  /** The number up to which the session is stored once this event and all before it are. */
  readonly mark: number;
  messages: readonly InboundMessage[];
  isStored: boolean;
}

/**
 * Takes the events of all sessions, and offers the messages in the events to the host until the host has stored them.
 * Messages of one chat keep their order; a chat that waits for an answer of Discord holds up no other.
 */
export class EventQueue {
  readonly #bot: Bot;
  /** Numbers of the last stored events, by session. */
  readonly #stored = new Map<string, number>();
  /** Events that are not stored, by session, in the order in which they came. */
  readonly #open = new Map<string, Item[]>();
  /** The last event of each chat that is being read. */
  readonly #reading = new Map<string, Promise<void>>();
  /** Events that were read. */
  readonly #ready: Item[] = [];
  #wake: () => void = () => undefined;

  constructor(bot: Bot) {
    this.#bot = bot;
  }

  /** The number of the session's last event that is stored, with all before it; Discord need not send it again. */
  stored(session: string): number | undefined {
    return this.#stored.get(session);
  }

  /** Follows a session whose events up to `sequence` are stored. */
  begin(session: string, sequence: number): void {
    this.#stored.set(session, sequence);
  }

  /** The session is over. Its events that wait are stored all the same. */
  end(session: string): void {
    this.#stored.delete(session);
    this.#open.delete(session);
  }

  /** Adds an event. Once the event is stored, the session counts as stored up to `mark`. */
  push(session: string, event: DispatchEvent, mark: number): void {
    const item: Item = { session, event, mark, messages: [], isStored: false };
    const open = this.#open.get(session) ?? [];
    this.#open.set(session, open);
    open.push(item);
    const chat = eventChannel(event);
    if (chat === undefined) return this.#advance([item]);
    const before = this.#reading.get(chat) ?? Promise.resolve();
    const reading = before
      .then(async () => this.#read(item))
      .then(() => {
        if (this.#reading.get(chat) === reading) this.#reading.delete(chat);
      });
    this.#reading.set(chat, reading);
  }

  /** Resolves when the signal aborts; never rejects. An event that is not stored by then is left to the next start. */
  async run(): Promise<void> {
    const { signal } = this.#bot;
    signal.addEventListener("abort", () => this.#wake(), { once: true });
    while (!signal.aborted) {
      const items = this.#ready.splice(0, BATCH);
      if (items.length === 0) {
        await this.#pushed();
        continue;
      }
      const messages = items.flatMap((item) => item.messages);
      if (messages.length > 0 && !(await this.#offer(messages))) break;
      this.#advance(items);
    }
    await Promise.all(this.#reading.values());
  }

  async #pushed(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (this.#ready.length > 0 || this.#bot.signal.aborted) resolve();
    });
  }

  /** The events are stored. Those behind one that is not wait for it: Discord sends again all after a number. */
  #advance(items: readonly Item[]): void {
    for (const item of items) item.isStored = true;
    for (const session of new Set(items.map((item) => item.session))) {
      const open = this.#open.get(session) ?? [];
      const left = open.findIndex(({ isStored }) => !isStored);
      for (const { mark } of open.splice(0, left === -1 ? open.length : left)) {
        const before = this.#stored.get(session);
        if (before !== undefined) this.#stored.set(session, Math.max(before, mark));
      }
    }
  }

  /** Reads the event of an item. Never rejects. The event stays unread when the channel stops before. */
  async #read(item: Item): Promise<void> {
    const messages = await this.#messagesIn(item);
    if (messages === undefined) return;
    item.messages = messages;
    this.#ready.push(item);
    this.#wake();
  }

  /**
   * Messages of an event, with the lookups that it needs, and without lookups that take too long. Undefined when the
   * channel stops before.
   */
  async #messagesIn({ session, event }: Item): Promise<readonly InboundMessage[] | undefined> {
    const { signal } = this.#bot;
    let bot = this.#bot;
    for (let failures = 0, waitedMs = 0; !signal.aborted; failures++) {
      try {
        return await readEvent(event, { bot, session, now: Date.now() });
      } catch (error) {
        if (isBug(error)) return this.#skipped(event, error);
        const waitMs = this.#pauseAfter(event, error, failures);
        waitedMs += waitMs;
        if (waitedMs <= PATIENCE_MS) await wait(waitMs, signal);
        else bot = this.#withoutLookups(event);
      }
    }
    return undefined;
  }

  /** Skips an event that the adapter misreads: it must not hold up all later ones. */
  #skipped({ name, sequence }: DispatchEvent, error: unknown): readonly InboundMessage[] {
    const fields = { event: name, sequence, error: String(error) };
    this.#bot.host.log.warn("an event could not be read and was skipped", fields);
    return [];
  }

  /** Only a refused token is a trouble of the account: one chat of which Discord says nothing holds up no other. */
  #pauseAfter({ name, sequence }: DispatchEvent, error: unknown, failures: number): number {
    const { host } = this.#bot;
    const outcome = outcomeOf(error);
    const { afterMs, fix }: { afterMs?: number; fix?: string } = outcome.kind === "retry" ? outcome : {};
    const reason = reasonOf(error);
    if (fix !== undefined) host.report({ kind: "dead", reason, fix });
    else if (failures === 0)
      host.log.info("an event waits for an answer of Discord", { event: name, sequence, reason });
    return afterMs ?? backoff(failures);
  }

  /** The bot for an event that has waited long enough: it asks Discord nothing. */
  #withoutLookups({ name, sequence }: DispatchEvent): Bot {
    const bot = this.#bot;
    bot.host.log.warn("an event goes on without what Discord does not say", { event: name, sequence });
    return unasking(bot);
  }

  /** Offers messages to the host. False when the channel stopped before the host had stored the messages. */
  async #offer(messages: readonly InboundMessage[]): Promise<boolean> {
    const { host, signal } = this.#bot;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        await host.receive(messages);
        if (failures > 0) host.report({ kind: "alive" });
        return true;
      } catch (error) {
        const retryInMs = backoff(failures);
        const cause = error instanceof Error ? error.message : String(error);
        host.report({ kind: "trouble", reason: `events could not be stored: ${cause}`, retryInMs });
        await wait(retryInMs, signal);
      }
    }
    return false;
  }
}
