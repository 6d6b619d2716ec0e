import type { AccountNotes, ChannelLink } from "../../types/chat/channel.ts";
import type { Clock } from "../../types/clock.ts";
import type { Log } from "../../types/log.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import { within } from "../../utils/within.ts";

const NOTE = "heard-until";
/** Platforms' clocks differ from ours, and a note is up to half a minute old. Repeats are recognised by their event key. */
const OVERLAP_MS = 2 * 60_000;
/** Milliseconds after which nobody expects an answer to a message any more. */
const LONGEST_GAP_MS = 24 * 60 * 60_000;
/** How long live messages wait for older ones. */
const HOLD_MS = 60_000;

type Ask = NonNullable<ChannelLink["missedSince"]>;

/** A period that was too long ago to ask the platform about; epoch milliseconds. */
export interface UnaskedPeriod {
  readonly from: number;
  readonly until: number;
}

export interface CatchUpPorts {
  receive(messages: readonly InboundMessage[]): Promise<void>;
  readonly notes: AccountNotes;
  readonly clock: Clock;
  readonly log: Log;
}

/** Fetches the messages that an account missed while it was not connected, for platforms that do not deliver them on their own. */
export class CatchUp {
  readonly #ports: CatchUpPorts;
  /** Number of outages that have ended, and number of outages that the platform was asked about. */
  #gaps = 0;
  #asked = 0;
  #isFirst = false;
  #unasked: UnaskedPeriod | undefined;
  #running: Promise<void> | undefined;

  constructor(ports: CatchUpPorts) {
    this.#ports = ports;
  }

  /** The part of the latest outage that the platform was not asked about. */
  get unasked(): UnaskedPeriod | undefined {
    return this.#unasked;
  }

  /** Called before the first connection. From then on a restart asks for missed messages, even after an immediate kill. Never rejects. */
  async begin(): Promise<void> {
    try {
      if ((await this.#ports.notes.get(NOTE)) !== undefined) return;
      this.#isFirst = true;
      await this.#note(this.#ports.clock.now());
    } catch (error) {
      this.#ports.log.warn("the time of the last received message was not noted", { error: String(error) });
    }
  }

  /** Asks the platform after an outage that ended, or may have. Resolves when that is done or postponed; never rejects. */
  async run(link: ChannelLink): Promise<void> {
    const ask = link.missedSince;
    if (!ask) return;
    this.#gaps++;
    await this.#ask(ask);
  }

  async #ask(ask: Ask): Promise<void> {
    this.#running ??= this.#fetch(ask).finally(() => {
      this.#running = undefined;
    });
    await this.#running;
  }

  /**
   * Called regularly while the link is open: retries a failed request, else notes until when messages were received. `lastSign` is
   * when the link last proved that it receives, in epoch milliseconds; later messages may be missing. Unset when it has not.
   */
  async tick(link: ChannelLink, lastSign: number | undefined): Promise<void> {
    if (!link.missedSince || this.#running) return;
    if (this.#asked < this.#gaps) return this.#ask(link.missedSince);
    if (lastSign !== undefined) await this.#note(lastSign);
  }

  /**
   * Resolves when the missed messages are stored, so that live messages come after them; at the latest after a minute.
   */
  async settled(): Promise<void> {
    if (this.#running) await within(this.#running, HOLD_MS, this.#ports.clock);
  }

  async #fetch(missedSince: Ask): Promise<void> {
    const { notes, clock, log, receive } = this.#ports;
    const began = clock.now();
    const gaps = this.#gaps;
    try {
      const noted = Number(await notes.get(NOTE));
      // There is no outage before the first start.
      if (noted > 0 && !this.#isFirst) {
        const since = Math.max(noted - OVERLAP_MS, began - LONGEST_GAP_MS);
        const missed = await missedSince(since);
        if (missed.length > 0) await receive(missed);
        log.info("fetched missed messages", { found: missed.length });
        if (noted < since) this.#leave({ from: noted, until: since });
      }
      this.#asked = gaps;
      this.#isFirst = false;
      await notes.set(NOTE, String(began));
    } catch (error) {
      log.warn("missed messages could not be fetched", { error: String(error) });
    }
  }

  #leave(unasked: UnaskedPeriod): void {
    this.#unasked = unasked;
    const { from, until } = unasked;
    this.#ports.log.warn("an outage was too long: messages of its first part may be missing", {
      from: new Date(from).toISOString(),
      until: new Date(until).toISOString(),
      hours: Math.round((until - from) / 3_600_000),
    });
  }

  async #note(receivedUntil: number): Promise<void> {
    const { notes, log } = this.#ports;
    try {
      await notes.set(NOTE, String(receivedUntil));
    } catch (error) {
      log.warn("the time of the last received message was not noted", { error: String(error) });
    }
  }
}
