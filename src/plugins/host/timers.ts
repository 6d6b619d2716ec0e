import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers";
import { isAbsolute } from "node:path";
import { getCallSites } from "node:util";
import type { RunningCode } from "../api/running-code.ts";
import type { PluginWatch } from "../api/watch.ts";

type Timer = ReturnType<typeof setTimeout>;

/** The functions that are replaced, with the name of each one's callbacks in reports. */
const SETTERS = { setTimeout: "timeout", setInterval: "interval", setImmediate: "immediate" } as const;

/** Milliseconds that work of an unloaded plugin gets to end: it may wait for a timeout while it holds a lock of the plugin. */
const GRACE_MS = 30_000;

interface Kept {
  readonly ref: WeakRef<Timer>;
  readonly isInterval: boolean;
}

/**
 * The timers that the code of plugins sets: they are measured, and their errors are reported. When the plugin is
 * unloaded, its intervals end at once and its timeouts after a while. Timers of the gateway are untouched, also timers
 * that it sets while it works for a plugin.
 */
export class PluginTimers {
  readonly #watch: PluginWatch;
  /** Timers of each plugin. Timers that are over are collected, so no code removes them. */
  readonly #set = new Map<RunningCode, Set<Kept>>();
  readonly #collected = new FinalizationRegistry<{ readonly code: RunningCode; readonly kept: Kept }>(
    ({ code, kept }) => this.#set.get(code)?.delete(kept),
  );
  readonly #graceMs: number;

  constructor(watch: PluginWatch, graceMs = GRACE_MS) {
    this.#watch = watch;
    this.#graceMs = graceMs;
  }

  /** Begins to follow the timers of this process; the returned function ends that. */
  follow(): () => void {
    const undo = Object.entries(SETTERS).map(([name, what]) => this.#replace(name, what));
    syncBuiltinESMExports();
    return () => {
      for (const one of undo) one();
      syncBuiltinESMExports();
    };
  }

  /**
   * Ends the intervals that a plugin has left, and later its timeouts, with timeouts that its code sets meanwhile.
   * Returns the number of intervals.
   */
  end(code: RunningCode): number {
    code.hasEnded = true;
    const intervals = this.#clear(code, (kept) => kept.isInterval);
    const late = this.#watch.outside(() =>
      setTimeout(() => {
        code.isOver = true;
        this.#clear(code, () => true);
        this.#set.delete(code);
      }, this.#graceMs),
    );
    late.unref();
    return intervals;
  }

  #clear(code: RunningCode, which: (kept: Kept) => boolean): number {
    const timers = [...(this.#set.get(code) ?? [])].filter(which).flatMap(({ ref }) => ref.deref() ?? []);
    const left = timers.filter((timer) => !isCleared(timer));
    for (const timer of left) clearTimeout(timer);
    return left.length;
  }

  #replace(name: string, what: string): () => void {
    const original: unknown = Reflect.get(globalThis, name);
    if (typeof original !== "function") return () => undefined;
    const set = (callback: unknown, ...rest: unknown[]): unknown => {
      const code = this.#watch.current;
      if (!code || typeof callback !== "function" || !isCallOf(code))
        return Reflect.apply(original, globalThis, [callback, ...rest]);
      const watch = this.#watch;
      const measured = function (this: unknown, ...args: unknown[]): void {
        watch.callback(code, what, () => Reflect.apply(callback, this, args));
      };
      const timer: unknown = Reflect.apply(original, globalThis, [measured, ...rest]);
      this.#keep(code, timer, name === "setInterval");
      return timer;
    };
    // `util.promisify` finds its form of the function there.
    Object.defineProperties(set, Object.getOwnPropertyDescriptors(original));
    const put = (value: unknown) => [globalThis, timers].forEach((holder) => Reflect.set(holder, name, value));
    put(set);
    return () => put(original);
  }

  #keep(code: RunningCode, timer: unknown, isInterval: boolean): void {
    if (!isTimer(timer)) return;
    if (code.isOver || (code.hasEnded && isInterval)) return clearTimeout(timer);
    const kept = { ref: new WeakRef(timer), isInterval };
    const all = this.#set.get(code) ?? new Set();
    this.#set.set(code, all.add(kept));
    this.#collected.register(timer, { code, kept });
  }
}

/** An immediate runs at once: it needs no end. */
const isTimer = (value: unknown): value is Timer => typeof value === "object" && value !== null && "refresh" in value;

/** Node marks a timer that was cleared, or that has run and was not started again. */
const isCleared = (timer: Timer): boolean => Reflect.get(timer, "_destroyed") === true;

/**
 * Whether a file of the plugin called the asking function, or code of no file: the gateway's own code always has a
 * file, so that the plugin has evaluated such code. The frames: this function, the asking one, its caller.
 */
function isCallOf(code: RunningCode): boolean {
  const caller = getCallSites(3)[2];
  return caller !== undefined && (code.owns(caller.scriptName) || !isFile(caller.scriptName));
}

/** The name of a script is a URL, or a path; evaluated code has none, and that of `node:vm` may have any. */
const isFile = (script: string): boolean => isAbsolute(script) || /^(node|file):/.test(script);
