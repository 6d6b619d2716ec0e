import type { AccountId, ChannelId } from "../../types/ids.ts";

/** Callers that wait until an account has a link. */
export class LinkWaits {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Resolves with the account's next link, or when the signal aborts. */
  async wait(channel: ChannelId, account: AccountId, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const key = keyOf(channel, account);
    const waiting = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, waiting);
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.add(resolve);
    const end = () => resolve();
    signal.addEventListener("abort", end, { once: true });
    await promise;
    signal.removeEventListener("abort", end);
    waiting.delete(resolve);
  }

  /** The account has a link. */
  wake(channel: ChannelId, account: AccountId): void {
    for (const resolve of this.#waiting.get(keyOf(channel, account)) ?? []) resolve();
  }
}

const keyOf = (channel: ChannelId, account: AccountId): string => JSON.stringify([channel, account]);
