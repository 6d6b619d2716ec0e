import { randomBytes } from "node:crypto";
import type { Clock } from "../../types/clock.ts";
import type { RunId } from "../../types/ids.ts";
import type { ToolResult } from "../../types/run/tool.ts";
import { background } from "../../utils/background.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { within } from "../../utils/within.ts";
import { errorResult } from "../define.ts";
import { maySee, type Starter } from "../process/starter.ts";

/** Milliseconds that a call waits for its images. */
const WAIT_MS = 30_000;
/** Most drawings at the same time. */
const MOST_RUNNING = 8;
/** Number of ended drawings that are kept. */
const MOST_ENDED = 20;
/** Milliseconds in which all drawings end when the gateway stops. */
const CLOSE_MS = 5000;

/** A drawing in the background: it takes longer than its call waited. */
export interface DrawJob {
  readonly id: string;
  /** The beginning of the prompt. */
  readonly name: string;
  readonly starter: Starter;
  readonly runId: RunId;
  /** Epoch milliseconds of the drawing's start. */
  readonly startedAt: number;
  /** End of the drawing; unset before. */
  end?: { readonly at: number; readonly result: ToolResult };
}

interface JobPorts {
  readonly clock: Clock;
  /** Called with each drawing that ended after its call. */
  ended(job: DrawJob): void;
}

interface Running {
  readonly stop: AbortController;
  readonly result: Promise<ToolResult>;
}

/** The drawings that may outlive their calls, in memory only. */
export class DrawJobs {
  readonly #ports: JobPorts;
  /** Drawings in the background, the oldest first. */
  readonly #jobs: DrawJob[] = [];
  readonly #running = new Set<Running>();
  #isClosed = false;

  constructor(ports: JobPorts) {
    this.#ports = ports;
  }

  /**
   * Starts a drawing. Resolves with the result, or with the job when the drawing continues in the background. Rejects
   * as `work` does, and when too many drawings run. An abort of `signal` ends the work as long as the call waits.
   */
  async run(
    of: Pick<DrawJob, "name" | "starter" | "runId">,
    work: (signal: AbortSignal) => Promise<ToolResult>,
    signal: AbortSignal,
  ): Promise<ToolResult | DrawJob> {
    if (this.#isClosed) throw new Error("the gateway stops");
    if (this.#running.size >= MOST_RUNNING)
      throw new Error(`${MOST_RUNNING} drawings go on already: wait until one has ended (action status)`);
    const startedAt = this.#ports.clock.now();
    const stop = new AbortController();
    const abort = (): void => stop.abort(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    const running = { stop, result: work(stop.signal) };
    this.#running.add(running);
    const isDone = await within(running.result, WAIT_MS, this.#ports.clock).finally(() => {
      signal.removeEventListener("abort", abort);
      background("end of a drawing", this.#forget(running));
    });
    return isDone ? running.result : this.#keep({ ...of, id: randomBytes(4).toString("hex"), startedAt }, running);
  }

  /** Drawings in the background that a viewer may see, the oldest first. */
  list(viewer: Starter): readonly DrawJob[] {
    return this.#jobs.filter(({ starter }) => maySee(viewer, starter));
  }

  /** Ends all drawings, without notices. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const running = [...this.#running];
    for (const { stop } of running) stop.abort();
    await within(Promise.allSettled(running.map(({ result }) => result)), CLOSE_MS, this.#ports.clock);
  }

  async #forget(running: Running): Promise<void> {
    // The caller gets the drawing's error.
    await running.result.catch(() => undefined);
    this.#running.delete(running);
  }

  #keep(job: DrawJob, { result }: Running): DrawJob {
    this.#jobs.push(job);
    background("end of a drawing", this.#follow(job, result));
    return job;
  }

  async #follow(job: DrawJob, running: Promise<ToolResult>): Promise<void> {
    const result = await running.catch((error: unknown) => errorResult(errorText(error)));
    job.end = { at: this.#ports.clock.now(), result };
    const ended = this.#jobs.filter(({ end }) => end !== undefined);
    if (ended.length > MOST_ENDED) this.#jobs.splice(this.#jobs.indexOf(ended[0] ?? job), 1);
    if (!this.#isClosed && !job.starter.isSubagent) this.#ports.ended(job);
  }
}
