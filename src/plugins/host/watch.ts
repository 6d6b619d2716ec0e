import type { Log } from "../../types/log.ts";

/** Milliseconds that a call may keep the event loop before it is reported. */
const BLOCKING_MS = 100;
/** A plugin that blocks over and over is logged once in this time. */
const LOGGED_EVERY_MS = 60_000;

/** How a plugin has behaved since it was loaded. */
export interface PluginCost {
  readonly calls: number;
  /** Milliseconds of the event loop that its calls have used, without what they awaited. */
  readonly busyMs: number;
  /** Calls that kept the event loop for longer than 100 ms, and the longest of them. */
  readonly blocked: number;
  readonly longest?: { readonly what: string; readonly ms: number };
  readonly failed: number;
  readonly lastError?: string;
}

interface Mutable {
  calls: number;
  busyMs: number;
  blocked: number;
  longest?: { what: string; ms: number };
  failed: number;
  lastError?: string;
  loggedAt: number;
}

/** Measures the calls of plugins' code: who blocks the gateway is named. */
export class PluginWatch {
  readonly #log: Log;
  readonly #now: () => number;
  readonly #costs = new Map<string, Mutable>();

  /** `now`: milliseconds that only grow. */
  constructor(log: Log, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#now = now;
  }

  /** Runs a call of a plugin. Throws, or rejects, as the call does. */
  call<T>(plugin: string, what: string, run: () => T): T {
    const cost = this.#costOf(plugin);
    cost.calls++;
    const begun = this.#now();
    try {
      const result = run();
      if (result instanceof Promise) result.catch((error: unknown) => noteFailure(cost, what, error));
      return result;
    } catch (error) {
      noteFailure(cost, what, error);
      throw error;
    } finally {
      this.#account(plugin, cost, { what, ms: this.#now() - begun });
    }
  }

  costOf(plugin: string): PluginCost | undefined {
    const cost = this.#costs.get(plugin);
    if (!cost) return undefined;
    const { loggedAt: _at, ...shown } = cost;
    return { ...shown, busyMs: Math.round(shown.busyMs) };
  }

  forget(plugin: string): void {
    this.#costs.delete(plugin);
  }

  #costOf(plugin: string): Mutable {
    const known = this.#costs.get(plugin);
    if (known) return known;
    const fresh: Mutable = { calls: 0, busyMs: 0, blocked: 0, failed: 0, loggedAt: -Infinity };
    this.#costs.set(plugin, fresh);
    return fresh;
  }

  #account(plugin: string, cost: Mutable, { what, ms }: { what: string; ms: number }): void {
    cost.busyMs += ms;
    if (ms < BLOCKING_MS) return;
    cost.blocked++;
    if (ms > (cost.longest?.ms ?? 0)) cost.longest = { what, ms: Math.round(ms) };
    if (this.#now() - cost.loggedAt < LOGGED_EVERY_MS) return;
    cost.loggedAt = this.#now();
    this.#log.warn("a plugin blocked the gateway", { plugin, call: what, ms: Math.round(ms), times: cost.blocked });
  }
}

function noteFailure(cost: Mutable, what: string, error: unknown): void {
  cost.failed++;
  cost.lastError = `${what}: ${error instanceof Error ? error.message : String(error)}`;
}
