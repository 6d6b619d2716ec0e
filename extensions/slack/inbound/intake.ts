import { backoff, wait } from "openclaw/plugin-sdk";
import type { ChannelHost, InboundMessage } from "openclaw/plugin-sdk";
import type { Delivery } from "../events.ts";

/** Maximum number of deliveries that are stored together. */
const BATCH = 50;

interface QueuedDelivery {
  readonly read: Promise<readonly InboundMessage[]>;
  readonly stored: PromiseWithResolvers<boolean>;
}

export interface IntakePorts {
  readonly host: ChannelHost;
  readonly signal: AbortSignal;
  /** Called at once for each delivery, before it is read. */
  observe(delivery: Delivery): void;
  read(delivery: Delivery): Promise<InboundMessage | undefined>;
}

/** Brings every delivery to the journal: in order, one batch at a time, offered again until it is stored. */
export class Intake {
  readonly #ports: IntakePorts;
  #queue: QueuedDelivery[] = [];
  #work: Promise<void> = Promise.resolve();
  #isWorking = false;

  constructor(ports: IntakePorts) {
    this.#ports = ports;
  }

  /** Resolves with true when the delivery is durable or has nothing for an agent, with false when the adapter was closed first. */
  async offer(delivery: Delivery): Promise<boolean> {
    if (this.#ports.signal.aborted) return false;
    this.#ports.observe(delivery);
    const stored = Promise.withResolvers<boolean>();
    // Read at once, whatever is being stored: Slack waits for its acknowledgement.
    this.#queue.push({ read: this.#read(delivery), stored });
    if (!this.#isWorking) this.#work = this.#drain();
    return stored.promise;
  }

  /** Resolves when the last batch is done. The signal must have aborted. */
  async closed(): Promise<void> {
    await this.#work;
  }

  async #drain(): Promise<void> {
    this.#isWorking = true;
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, BATCH);
      const isStored = await this.#store(batch);
      for (const { stored } of batch) stored.resolve(isStored);
    }
    this.#isWorking = false;
  }

  async #store(batch: readonly QueuedDelivery[]): Promise<boolean> {
    const messages = (await Promise.all(batch.map(({ read }) => read))).flat();
    const { host, signal } = this.#ports;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        if (messages.length > 0) await host.receive(messages);
        return true;
      } catch (error) {
        const retryInMs = backoff(failures);
        const reason = `events could not be stored: ${error instanceof Error ? error.message : String(error)}`;
        host.report({ kind: "trouble", reason, retryInMs });
        await wait(retryInMs, signal);
      }
    }
    return false;
  }

  async #read(delivery: Delivery): Promise<readonly InboundMessage[]> {
    const { host, read } = this.#ports;
    try {
      const message = await read(delivery);
      return message ? [message] : [];
    } catch (error) {
      // A delivery that cannot be read must not hold up the deliveries after it.
      host.log.warn("an event could not be read and was left out", { kind: delivery.kind, error: String(error) });
      return [];
    }
  }
}
