import { Worker } from "node:worker_threads";
import { background } from "../utils/background.ts";
import type { OutboundText } from "../types/chat/reply.ts";
import { errorText } from "../utils/text/error-text.ts";
import type { RenderLimits } from "./render-parts.ts";

/** What the thread gets; it answers each job with the messages, one job after the other. */
export interface RenderJob {
  readonly markdown: string;
  readonly limits: RenderLimits;
}

/** Why a text could not be rendered, for the log. */
export interface RenderFailure {
  readonly failed: string;
}

type RenderResult = readonly OutboundText[] | RenderFailure;

/** What the thread may take: a text that needs more is not worth it. */
interface ThreadLimits {
  /** Milliseconds for one text. */
  readonly jobMs: number;
  /** Milliseconds without a text after which the thread ends. */
  readonly idleMs: number;
}

/** Megabytes of the thread's heap. */
const HEAP_MB = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 };

/** Renders texts in a thread of its own, so that a text that is hard to parse keeps nobody waiting. The thread runs only while it is used. */
export class RenderThread {
  readonly #program: URL;
  readonly #limits: ThreadLimits;
  #worker: Worker | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(program: URL, limits: ThreadLimits = { jobMs: 5000, idleMs: 30_000 }) {
    this.#program = program;
    this.#limits = limits;
  }

  /** Gives the failure of a text that takes too long or too much memory, or that makes the renderer fail. Never rejects. */
  render(job: RenderJob): Promise<RenderResult> {
    clearTimeout(this.#idle);
    this.#waiting += 1;
    const result = this.#last.then(() => this.#ask(job));
    this.#last = result.then(() => this.#rest());
    return result;
  }

  #ask(job: RenderJob): Promise<RenderResult> {
    const { promise, resolve } = Promise.withResolvers<RenderResult>();
    const worker = (this.#worker ??= this.#start());
    const giveUp = (failed: string) => resolve({ failed });
    const onError = (error: unknown) => giveUp(errorText(error));
    const onExit = () => giveUp("the thread that renders has ended");
    const timer = setTimeout(() => {
      giveUp(`it takes longer than ${this.#limits.jobMs} ms`);
      this.#end();
    }, this.#limits.jobMs);
    worker.once("message", resolve).once("error", onError).once("exit", onExit).ref();
    worker.postMessage(job);
    return promise.finally(() => {
      clearTimeout(timer);
      worker.off("message", resolve).off("error", onError).off("exit", onExit);
    });
  }

  #start(): Worker {
    const worker = new Worker(this.#program, { resourceLimits: HEAP_MB, execArgv: [] });
    // The text that it renders gets the error. Without a listener, a later one would end the process.
    worker.on("error", () => this.#end());
    worker.once("exit", () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    return worker;
  }

  /** A thread that waits for a text must not keep the process. */
  #rest(): void {
    this.#waiting -= 1;
    if (this.#waiting > 0) return;
    this.#worker?.unref();
    this.#idle = setTimeout(() => this.#end(), this.#limits.idleMs).unref();
  }

  #end(): void {
    if (this.#worker) background("end of the thread that renders", this.#worker.terminate());
    this.#worker = undefined;
  }
}
