import type { OutboundText } from "../types/chat/reply.ts";
import { JobThread, type JobFailure } from "../utils/thread/job-thread.ts";
import type { RenderLimits } from "./render-parts.ts";

/** Job of the render thread; the thread answers each job with the messages, one job after the other. */
export interface RenderJob {
  readonly markdown: string;
  readonly limits: RenderLimits;
}

const HEAP_MB = { old: 256, young: 16 };

/** Renders texts in a thread of its own, so that a text that is hard to parse keeps nobody waiting. */
export class RenderThread {
  readonly #thread: JobThread<RenderJob, readonly OutboundText[]>;

  constructor(
    program: URL,
    limits: { readonly jobMs: number; readonly idleMs: number } = { jobMs: 5000, idleMs: 30_000 },
  ) {
    this.#thread = new JobThread(program, { ...limits, heapMb: HEAP_MB });
  }

  /** Gives the failure of a text that takes too long or too much memory, or that makes the renderer fail. Never rejects. */
  render(job: RenderJob): Promise<readonly OutboundText[] | JobFailure> {
    return this.#thread.run(job);
  }
}
