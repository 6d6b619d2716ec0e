import { Worker } from "node:worker_threads";
import { background } from "../utils/background.ts";
import type { OutboundText } from "../types/chat/reply.ts";
import type { RenderLimits } from "./render-parts.ts";

/** What the thread gets; it answers each job with the messages, one job after the other. */
export interface RenderJob {
  readonly markdown: string;
  readonly limits: RenderLimits;
}

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

  /** Undefined when the text takes too long or too much memory, or makes the renderer fail. Never rejects. */
  render(job: RenderJob): Promise<readonly OutboundText[] | undefined> {
    clearTimeout(this.#idle);
    this.#waiting += 1;
    const result = this.#last.then(() => this.#ask(job));
    this.#last = result.then(() => this.#rest());
    return result;
  }

  #ask(job: RenderJob): Promise<readonly OutboundText[] | undefined> {
    const { promise, resolve } = Promise.withResolvers<readonly OutboundText[] | undefined>();
    const worker = (this.#worker ??= this.#start());
    const giveUp = (): void => resolve(undefined);
    const timer = setTimeout(() => this.#end(), this.#limits.jobMs);
    worker.once("message", resolve).once("exit", giveUp).ref();
    worker.postMessage(job);
    return promise.finally(() => {
      clearTimeout(timer);
      worker.off("message", resolve).off("exit", giveUp);
    });
  }

  #start(): Worker {
    const worker = new Worker(this.#program, { resourceLimits: HEAP_MB, execArgv: [] });
    // The thread ends with an error; its text is then shown as it was written.
    worker.on("error", () => undefined);
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
