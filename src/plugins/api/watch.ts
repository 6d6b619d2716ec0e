import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../../types/clock.ts";
import type { Log } from "../../types/log.ts";
import { forgetOldest } from "../../utils/forget-oldest.ts";
import { errorText } from "../../utils/text/error-text.ts";
import type { RunningCode } from "./running-code.ts";

/** Milliseconds that a call may keep the event loop before it is reported. */
export const BLOCKING_MS = 100;
/** Milliseconds in which a repeated act of a plugin is logged once. */
const LOGGED_EVERY_MS = 60_000;

/** A time in which the event loop did nothing but one call. */
interface Block {
  /** The call, such as `hook agent_end`. */
  readonly what: string;
  readonly ms: number;
  /** Epoch milliseconds of the block's end. */
  readonly at: number;
}

/** How long the gateway waits for a call. `late`: called when it has waited in vain. */
export interface CallLimit {
  readonly ms: number;
  readonly clock: Pick<Clock, "after">;
  late(): void;
}

/** How a plugin has behaved since it was loaded. */
export interface PluginCost {
  readonly calls: number;
  /**
   * Milliseconds of the event loop that the plugin's calls and timers have used, without the time that they awaited.
   */
  readonly busyMs: number;
  /** How often the plugin kept the event loop for longer than 100 ms, and the longest and the latest time. */
  readonly blocked: number;
  readonly longest?: Block;
  readonly latest?: Block;
  /** Megabytes that the plugin's code holds, as of the last time that the heap had grown. */
  readonly heapMb?: number;
  readonly failed: number;
  readonly lastError?: string;
}

type Mutable = { -readonly [Key in keyof PluginCost]: PluginCost[Key] } & {
  /** When each call was logged last. */
  readonly loggedAt: Map<string, number>;
  failureLoggedAt: number;
};

/** Names of calls that are remembered of each plugin. */
const MOST_NAMES = 200;

/** Measures the code of plugins, in calls and between calls, and names the plugin that blocks the gateway. */
export class PluginWatch {
  readonly #log: Log;
  readonly #now: () => number;
  readonly #costs = new Map<string, Mutable>();
  readonly #context = new AsyncLocalStorage<RunningCode | undefined>();
  #blockedAt = -Infinity;

  /** `now`: milliseconds that only grow. */
  constructor(log: Log, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#now = now;
  }

  /** The plugin whose code runs, also after an `await`. */
  get current(): RunningCode | undefined {
    return this.#context.getStore();
  }

  /** When the latest block that could be attributed ended. */
  get blockedAt(): number {
    return this.#blockedAt;
  }

  /** Runs code of a plugin without measuring it. */
  inside<T>(code: RunningCode, run: () => T): T {
    return this.#context.run(code, run);
  }

  /** Runs code of the gateway that a plugin has called: it is not the plugin's. */
  outside<T>(run: () => T): T {
    return this.#context.run(undefined, run);
  }

  /** Runs a call of a plugin. Throws, or rejects, as the call does. One that is pending after its limit has failed. */
  call<T>(code: RunningCode, what: string, run: () => T, limit?: CallLimit): T {
    const cost = this.#costOf(code.id);
    cost.calls++;
    const begun = this.#now();
    try {
      const result = this.inside(code, run);
      if (result instanceof Promise) noteEnd(result, limit, (error) => noteFailure(cost, what, error));
      return result;
    } catch (error) {
      noteFailure(cost, what, error);
      throw error;
    } finally {
      this.noteBusy(code, what, this.#now() - begun);
    }
  }

  /**
   * Runs a function that a plugin has left to the event loop, such as a timer's function. An error is reported and ends
   * nothing.
   */
  callback(code: RunningCode, what: string, run: () => unknown): void {
    const begun = this.#now();
    try {
      this.inside(code, run);
    } catch (error) {
      this.noteStray(code, what, error);
    } finally {
      this.noteBusy(code, what, this.#now() - begun);
    }
  }

  /** Reports an error of a plugin's code that nobody waits for, at most once a minute. */
  noteStray({ id }: RunningCode, what: string, error: unknown): void {
    const cost = this.#costOf(id);
    noteFailure(cost, what, error);
    if (this.#now() - cost.failureLoggedAt < LOGGED_EVERY_MS) return;
    cost.failureLoggedAt = this.#now();
    this.#log.error("plugin failed", { plugin: id, call: what, error });
  }

  /** Counts time in which a plugin kept the event loop. */
  noteBusy({ id }: RunningCode, what: string, ms: number): void {
    const cost = this.#costOf(id);
    cost.busyMs += ms;
    if (ms < BLOCKING_MS) return;
    this.#blockedAt = this.#now();
    cost.blocked++;
    cost.latest = { what, ms: Math.round(ms), at: Date.now() };
    if (ms > (cost.longest?.ms ?? 0)) cost.longest = cost.latest;
    if (this.#now() - (cost.loggedAt.get(what) ?? -Infinity) < LOGGED_EVERY_MS) return;
    cost.loggedAt.delete(what);
    cost.loggedAt.set(what, this.#now());
    forgetOldest(cost.loggedAt, MOST_NAMES);
    this.#log.warn("a plugin blocked the gateway", { plugin: id, call: what, ms: Math.round(ms), times: cost.blocked });
  }

  /** Reports that the heap has grown by the objects of a plugin's code. */
  noteHeap({ id }: RunningCode, { mb, grownMb, calls }: { mb: number; grownMb: number; calls: number }): void {
    this.#costOf(id).heapMb = mb;
    this.#log.warn("the heap grew by what a plugin holds", { plugin: id, grownMb, mb, calls });
  }

  costOf(plugin: string): PluginCost | undefined {
    const cost = this.#costs.get(plugin);
    if (!cost) return undefined;
    const { loggedAt: _at, failureLoggedAt: _failed, ...shown } = cost;
    return { ...shown, busyMs: Math.round(shown.busyMs) };
  }

  forget(plugin: string): void {
    this.#costs.delete(plugin);
  }

  #costOf(plugin: string): Mutable {
    const known = this.#costs.get(plugin);
    if (known) return known;
    const fresh = {
      calls: 0,
      busyMs: 0,
      blocked: 0,
      failed: 0,
      loggedAt: new Map<string, number>(),
      failureLoggedAt: -Infinity,
    };
    this.#costs.set(plugin, fresh);
    return fresh;
  }
}

/** Reports once how a call failed: that it was late, or the error with which it rejected before that. */
function noteEnd(result: Promise<unknown>, limit: CallLimit | undefined, failed: (error: unknown) => void): void {
  let isOver = false;
  const once = (tell: () => void) => () => {
    if (!isOver) tell();
    isOver = true;
  };
  const late = (given: CallLimit) => {
    failed(new Error(`no answer within ${given.ms} ms`));
    given.late();
  };
  const cancel = limit?.clock.after(
    limit.ms,
    once(() => late(limit)),
  );
  const end = (tell: () => void) => {
    cancel?.();
    once(tell)();
  };
  result.then(
    () => end(() => undefined),
    (error: unknown) => end(() => failed(error)),
  );
}

function noteFailure(cost: Mutable, what: string, error: unknown): void {
  cost.failed++;
  cost.lastError = `${what}: ${errorText(error)}`;
}
