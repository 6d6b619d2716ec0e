import type { AccountNotes, ChannelLink } from "../../types/chat/channel.ts";
import type { Clock } from "../../types/clock.ts";
import type { Log } from "../../types/log.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import { within } from "../../utils/within.ts";

const NOTE = "heard-until";
/** Clocks of platforms differ from ours, and a note is up to half a minute old. Repeats are found by their event key. */
const OVERLAP_MS = 2 * 60_000;
/** Nobody waits longer for an answer. */
const LONGEST_GAP_MS = 24 * 60 * 60_000;
/** How long live messages wait behind older ones. */
const HOLD_MS = 60_000;

type Ask = NonNullable<ChannelLink["missedSince"]>;

/** A time of which the platform was not asked, since it is too long ago; epoch milliseconds. */
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

/** Fetches what an account missed while it was not connected, for platforms that do not deliver it by themselves. */
export class CatchUp {
  readonly #ports: CatchUpPorts;
  /** Gaps that ended, and how many of them were asked about. */
  #gaps = 0;
  #asked = 0;
  #isFirst = false;
  #unasked: UnaskedPeriod | undefined;
  #running: Promise<void> | undefined;

  constructor(ports: CatchUpPorts) {
    this.#ports = ports;
  }

  /** The part of the latest gap that was not asked for. */
  get unasked(): UnaskedPeriod | undefined {
    return this.#unasked;
  }

  /** Before the first connection: from here on a restart asks for what came, also when it was killed at once. Never rejects. */
  async begin(): Promise<void> {
    try {
      if ((await this.#ports.notes.get(NOTE)) !== undefined) return;
      this.#isFirst = true;
      await this.#note(this.#ports.clock.now());
    } catch (error) {
      this.#ports.log.warn("not noted how far was heard", { error: String(error) });
    }
  }

  /** A gap ended, or may have: asks the platform. Resolves when it is done or put off; never rejects. */
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
   * Called now and then while the link is open: tries again what failed, else notes how far was heard. `lastSign` is when
   * it last proved that it hears, in epoch milliseconds: nobody knows what came after that. Unset when it did not.
   */
  async tick(link: ChannelLink, lastSign: number | undefined): Promise<void> {
    if (!link.missedSince || this.#running) return;
    if (this.#asked < this.#gaps) return this.#ask(link.missedSince);
    if (lastSign !== undefined) await this.#note(lastSign);
  }

  /** Resolves when older messages are in, so that live ones come after them; at the latest after a minute. */
  async settled(): Promise<void> {
    if (this.#running) await within(this.#running, HOLD_MS, this.#ports.clock);
  }

  async #fetch(missedSince: Ask): Promise<void> {
    const { notes, clock, log, receive } = this.#ports;
    const began = clock.now();
    const gaps = this.#gaps;
    try {
      const noted = Number(await notes.get(NOTE));
      // A first start has no gap.
      if (noted > 0 && !this.#isFirst) {
        const since = Math.max(noted - OVERLAP_MS, began - LONGEST_GAP_MS);
        const missed = await missedSince(since);
        if (missed.length > 0) await receive(missed);
        log.info("asked for missed messages", { found: missed.length });
        if (noted < since) this.#leave({ from: noted, until: since });
      }
      this.#asked = gaps;
      this.#isFirst = false;
      await notes.set(NOTE, String(began));
    } catch (error) {
      log.warn("missed messages not fetched", { error: String(error) });
    }
  }

  #leave(unasked: UnaskedPeriod): void {
    this.#unasked = unasked;
    const { from, until } = unasked;
    this.#ports.log.warn("an outage was longer than is asked for: what came in its first part is not known", {
      from: new Date(from).toISOString(),
      until: new Date(until).toISOString(),
      hours: Math.round((until - from) / 3_600_000),
    });
  }

  async #note(heardUntil: number): Promise<void> {
    const { notes, log } = this.#ports;
    try {
      await notes.set(NOTE, String(heardUntil));
    } catch (error) {
      log.warn("not noted how far was heard", { error: String(error) });
    }
  }
}
