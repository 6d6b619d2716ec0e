import type { Log } from "../../types/log.ts";
import { HeapWatch } from "./heap-watch.ts";
import { LoopWatch } from "./loop-watch.ts";
import type { RunningCode } from "./running-code.ts";
import type { PluginTimers } from "./timers.ts";
import type { PluginWatch } from "./watch.ts";

interface Observed {
  readonly watch: PluginWatch;
  readonly timers: PluginTimers;
  readonly codes: () => readonly RunningCode[];
  readonly log: Log;
}

/** Follows timers, the event loop and the heap of this process. The returned function ends that. Never rejects. */
export async function observeProcess({ watch, timers, codes, log }: Observed): Promise<() => void> {
  const ends = [timers.follow(), new LoopWatch(watch).follow()];
  try {
    ends.push(await new HeapWatch(watch, codes).follow());
  } catch (error) {
    // A Node that was built without its inspector.
    log.info("the heap is not watched", { error });
  }
  return () => {
    for (const end of ends) end();
  };
}
