import { backoff, wait } from "openclaw/plugin-sdk";
import type { InboundMessage } from "openclaw/plugin-sdk";
import type { Event } from "../gateway/connection.ts";
import { outcomeOf, reasonOf } from "../failures.ts";
import { readEvent } from "./inbound.ts";
import type { Room } from "../room.ts";

/** Events that are offered to the host at once. */
const BATCH = 50;

interface Item {
  readonly session: string;
  readonly event: Event;
}

/** Takes events in their order, and gives the messages in them to the host until it has stored them. */
export class Inbox {
  readonly #room: Room;
  #queue: Item[] = [];
  #wake: () => void = () => undefined;
  #session = "";
  #sequence: number | undefined;

  constructor(room: Room) {
    this.#room = room;
  }

  /** The last event of the session that need not come again. */
  get sequence(): number | undefined {
    return this.#sequence;
  }

  /** From now on, events are of this session. */
  begin(session: string, sequence: number): void {
    this.#session = session;
    this.#sequence = sequence;
  }

  push(event: Event): void {
    this.#queue.push({ session: this.#session, event });
    this.#wake();
  }

  /** Resolves when the signal aborts; never rejects. What is not stored by then is left to the next start. */
  async run(): Promise<void> {
    const { signal } = this.#room;
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
      this.#stored(items);
    }
  }

  async #pushed(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (this.#queue.length > 0 || this.#room.signal.aborted) resolve();
    });
  }

  #stored(items: readonly Item[]): void {
    for (const { session, event } of items) {
      if (session === this.#session) this.#sequence = event.sequence;
    }
  }

  /** Asks Discord for what an event leaves out, for as long as that takes. */
  async #read({ session, event }: Item): Promise<readonly InboundMessage[]> {
    const { host, signal } = this.#room;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const message = await readEvent(event, { room: this.#room, session, now: Date.now() });
        return message ? [message] : [];
      } catch (error) {
        if (isBug(error)) {
          // One event that we misread must not hold up all that come after it.
          const fields = { event: event.name, sequence: event.sequence, error: String(error) };
          host.log.warn("an event could not be read and was left out", fields);
          return [];
        }
        await this.#trouble(error, failures);
      }
    }
    return [];
  }

  async #trouble(error: unknown, failures: number): Promise<void> {
    const outcome = outcomeOf(error);
    const { afterMs, fix }: { afterMs?: number; fix?: string } = outcome.kind === "retry" ? outcome : {};
    const retryInMs = afterMs ?? backoff(failures);
    const reason = reasonOf(error);
    if (fix !== undefined) this.#room.host.report({ kind: "dead", reason, fix });
    else this.#room.host.report({ kind: "trouble", reason, retryInMs });
    await wait(retryInMs, this.#room.signal);
  }

  /** False when the channel stopped before the host had stored them. */
  async #offer(messages: readonly InboundMessage[]): Promise<boolean> {
    const { host, signal } = this.#room;
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

/** Discord's silence and refusals are other kinds of errors. */
const isBug = (error: unknown): boolean =>
  error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError;
