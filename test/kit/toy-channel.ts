import { z } from "zod";
import type { ConfiguredAccount } from "../../src/channels/ports.ts";
import type { ChannelAdapter, ChannelHost, ChannelLink } from "../../src/types/chat/channel.ts";
import type { Clock } from "../../src/types/clock.ts";
import { channelId, DEFAULT_ACCOUNT } from "../../src/types/ids.ts";
import type { Log } from "../../src/types/log.ts";

export const TOY = channelId("toy");

/** A clock that the test moves. */
export class TestClock implements Clock {
  #now = 1_000_000;
  #timers = new Set<{ at: number; call: () => void }>();
  now = (): number => this.#now;
  after = (ms: number, call: () => void): (() => void) => {
    const timer = { at: this.#now + ms, call };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  };
  /** Advances in small steps, so that promises settle in between. */
  async pass(ms: number): Promise<void> {
    const end = this.#now + ms;
    while (this.#now < end) {
      await settled();
      const next = Math.min(end, ...[...this.#timers].map((timer) => timer.at));
      this.#now = Math.max(this.#now, next);
      for (const timer of this.#timers) {
        if (timer.at <= this.#now && this.#timers.delete(timer)) timer.call();
      }
    }
    await settled();
  }
}
const settled = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** An adapter whose connections the test controls. */
export class Toy {
  readonly hosts: ChannelHost[] = [];
  readonly configs: unknown[] = [];
  closed = 0;
  connecting: () => Promise<void> = async () => undefined;
  link: ChannelLink = {
    send: async () => ({ kind: "sent", messageId: "9" }),
    close: async () => void this.closed++,
  };
  readonly adapter: ChannelAdapter = {
    id: TOY,
    label: "Toy",
    limits: { text: 10, format: "plain", media: 1 },
    config: z.unknown(),
    connect: async (config, host) => {
      this.hosts.push(host);
      this.configs.push(config);
      await this.connecting();
      return this.link;
    },
  };
  get host(): ChannelHost {
    return this.hosts.at(-1)!;
  }
  account(more: Partial<ConfiguredAccount> = {}): ConfiguredAccount {
    return { adapter: this.adapter, account: DEFAULT_ACCOUNT, config: { level: 1 }, enabled: true, ...more };
  }
}

export const silent: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => silent };
