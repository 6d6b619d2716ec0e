import type { HeapProfiler } from "node:inspector";
import { Session } from "node:inspector/promises";
import { background } from "../../utils/background.ts";
import type { RunningCode } from "../api/running-code.ts";
import type { PluginWatch } from "../api/watch.ts";

const MB = 1_048_576;
/** Bytes for each allocation that is sampled, with the functions that were active. */
const SAMPLED_EVERY = MB / 2;
const LOOK_EVERY_MS = 60_000;
/** Looks in a row that must find the heap larger by `GROWTH_MB` before it is examined, which collects garbage first. */
const LOOKS = 5;
const GROWTH_MB = 48;
/** Growth of a plugin since the last examination, from which on it is named. */
const NAMED_MB = 16;
/** Milliseconds until the next examination; doubled when nobody could be named. */
const SHORTEST_PAUSE_MS = 10 * 60_000;
const LONGEST_PAUSE_MS = 12 * 60 * 60_000;

/**
 * Names the plugin whose code holds the memory by which the heap has grown. V8 samples allocations, which costs next to
 * nothing; the samples that are still alive are counted only when the heap has stayed larger for minutes.
 */
export class HeapWatch {
  readonly #watch: PluginWatch;
  /** The plugins that are loaded. */
  readonly #codes: () => readonly RunningCode[];
  readonly #held = new Map<RunningCode, { readonly bytes: number; readonly calls: number }>();
  #baseline = Infinity;
  #larger = 0;
  #pauseMs = SHORTEST_PAUSE_MS;
  #quietUntil = 0;
  #session: Session | undefined;

  constructor(watch: PluginWatch, codes: () => readonly RunningCode[]) {
    this.#watch = watch;
    this.#codes = codes;
  }

  /** Begins to sample; the returned function ends that. */
  async follow(): Promise<() => void> {
    const session = new Session();
    session.connect();
    this.#session = session;
    await session.post("HeapProfiler.startSampling", { samplingInterval: SAMPLED_EVERY });
    const timer = setInterval(() => background("heap of plugins", this.#look()), LOOK_EVERY_MS);
    timer.unref();
    return () => {
      clearInterval(timer);
      this.#session = undefined;
      session.disconnect();
    };
  }

  async #look(): Promise<void> {
    const used = process.memoryUsage().heapUsed;
    this.#baseline = Math.min(this.#baseline, used);
    this.#larger = used >= this.#baseline + GROWTH_MB * MB ? this.#larger + 1 : 0;
    if (this.#larger < LOOKS || performance.now() < this.#quietUntil) return;
    const isNamed = await this.examine();
    this.#pauseMs = isNamed ? SHORTEST_PAUSE_MS : Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
    this.#quietUntil = performance.now() + this.#pauseMs;
    this.#larger = 0;
    this.#baseline = process.memoryUsage().heapUsed;
  }

  /**
   * Counts the memory of each plugin's code, and reports plugins that hold much more than before. Resolves with whether
   * any does.
   */
  async examine(): Promise<boolean> {
    if (!this.#session) return false;
    const { profile } = await this.#session.post("HeapProfiler.getSamplingProfile");
    let isNamed = false;
    for (const code of this.#codes()) {
      const bytes = bytesOf(profile.head, code);
      const calls = this.#watch.costOf(code.id)?.calls ?? 0;
      const before = this.#held.get(code) ?? { bytes: 0, calls: 0 };
      if (bytes < before.bytes + NAMED_MB * MB) continue;
      isNamed = true;
      this.#held.set(code, { bytes, calls });
      const grownMb = Math.round((bytes - before.bytes) / MB);
      this.#watch.noteHeap(code, { mb: Math.round(bytes / MB), grownMb, calls: calls - before.calls });
    }
    const loaded = new Set(this.#codes());
    for (const code of this.#held.keys()) if (!loaded.has(code)) this.#held.delete(code);
    return isNamed;
  }
}

/** Bytes that were allocated while a function of the plugin was active, and that are alive. */
function bytesOf({ callFrame, selfSize, children }: HeapProfiler.SamplingHeapProfileNode, code: RunningCode): number {
  if (code.owns(callFrame.url)) return sizeOf({ selfSize, children });
  return children.reduce((sum, child) => sum + bytesOf(child, code), 0);
}

const sizeOf = ({ selfSize, children }: Pick<HeapProfiler.SamplingHeapProfileNode, "selfSize" | "children">): number =>
  children.reduce((sum, child) => sum + sizeOf(child), selfSize);
