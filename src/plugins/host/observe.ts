import type { Log } from "../../types/log.ts";
import { HeapWatch } from "./heap-watch.ts";
import { EventLoopWatch } from "./loop-watch.ts";
import type { RunningCode } from "../api/running-code.ts";
import { PluginTimers } from "./timers.ts";
import { PluginWatch } from "../api/watch.ts";

/** Observers of plugins' code while it runs. */
export interface Observers {
  readonly watch: PluginWatch;
  readonly timers: PluginTimers;
}

export function createObservers(log: Log): Observers {
  const watch = new PluginWatch(log);
  return { watch, timers: new PluginTimers(watch) };
}

interface Observed extends Observers {
  readonly codes: () => readonly RunningCode[];
  readonly log: Log;
}

/** Follows timers, the event loop and the heap of this process. The returned function ends that. Never rejects. */
export async function observeProcess({ watch, timers, codes, log }: Observed): Promise<() => void> {
  const ends = [timers.follow(), new EventLoopWatch(watch).follow()];
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
