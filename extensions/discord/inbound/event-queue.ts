import { backoff, wait } from "openclaw/plugin-sdk";
import type { InboundMessage } from "openclaw/plugin-sdk";
import type { GatewayEvent } from "../gateway/connection.ts";
import { outcomeOf, reasonOf } from "../failures.ts";
import { readEvent } from "./inbound.ts";
import type { Bot } from "../bot.ts";

/** Events that are offered to the host at once. */
const BATCH = 50;

interface Item {
  readonly session: string;
  readonly event: GatewayEvent;
}

/** Takes the events of all sessions in their order, and offers the messages in them to the host until it has stored them. */
export class EventQueue {
  readonly #bot: Bot;
  /** Numbers of the last stored events, by session. */
  readonly #stored = new Map<string, number>();
  #queue: Item[] = [];
  #wake: () => void = () => undefined;

  constructor(bot: Bot) {
    this.#bot = bot;
  }

  /** The number of the session's last event that is stored; Discord need not send it again. */
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
  }

  push(session: string, event: GatewayEvent): void {
    this.#queue.push({ session, event });
    this.#wake();
  }

  /** Resolves when the signal aborts; never rejects. An event that is not stored by then is left to the next start. */
  async run(): Promise<void> {
    const { signal } = this.#bot;
    signal.addEventListener("abort", () => this.#wake(), { once: true });
    while (!signal.aborted) {
      const items = this.#queue.splice(0, BATCH);
      if (items.length === 0) {
        await this.#pushed();
        continue;
      }
      const messages: InboundMessage[] = [];
      for (const item of items) messages.push(...(await this.#read(item)));
      if (signal.aborted) return;
      if (messages.length > 0 && !(await this.#offer(messages))) return;
      this.#advance(items);
    }
  }

  async #pushed(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (this.#queue.length > 0 || this.#bot.signal.aborted) resolve();
    });
  }

  #advance(items: readonly Item[]): void {
    for (const { session, event } of items) {
      if (this.#stored.has(session)) this.#stored.set(session, event.sequence);
    }
  }

  /** Asks Discord for what an event lacks, until it answers. */
  async #read({ session, event }: Item): Promise<readonly InboundMessage[]> {
    const { host, signal } = this.#bot;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const message = await readEvent(event, { bot: this.#bot, session, now: Date.now() });
        return message ? [message] : [];
      } catch (error) {
        if (isBug(error)) {
          // One event that the adapter misreads must not hold up all later ones.
          const fields = { event: event.name, sequence: event.sequence, error: String(error) };
          host.log.warn("an event could not be read and was skipped", fields);
          return [];
        }
        await this.#waitAfter(error, failures);
      }
    }
    return [];
  }

  async #waitAfter(error: unknown, failures: number): Promise<void> {
    const outcome = outcomeOf(error);
    const { afterMs, fix }: { afterMs?: number; fix?: string } = outcome.kind === "retry" ? outcome : {};
    const retryInMs = afterMs ?? backoff(failures);
    const reason = reasonOf(error);
    if (fix !== undefined) this.#bot.host.report({ kind: "dead", reason, fix });
    else this.#bot.host.report({ kind: "trouble", reason, retryInMs });
    await wait(retryInMs, this.#bot.signal);
  }

  /** False when the channel stopped before the host had stored them. */
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

/** Failures of Discord and of the network are other kinds of errors. */
const isBug = (error: unknown): boolean =>
  error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError;
