import { Worker } from "node:worker_threads";
import { background } from "../background.ts";
import { errorText } from "../text/error-text.ts";

/** Why the thread gave no result. */
export interface JobFailure {
  readonly failed: string;
}

/** Most resources that a thread may take: a job that needs more is not worth it. */
export interface ThreadLimits {
  /** Milliseconds of the processor for one job. On a machine that has other work a job may last several times as long. */
  readonly jobMs: number;
  /** Milliseconds without a job after which the thread ends. */
  readonly idleMs: number;
  /** Megabytes of the thread's heap, for lasting values and for new ones. */
  readonly heapMb: { readonly old: number; readonly young: number };
}

/** How many times as long as its time of the processor a job may last. */
const MOST_TIMES = 6;
const LEAST_LOOK_MS = 20;

/** Milliseconds of processor time that all threads of this process have used. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * Gives jobs to a program in a thread of its own, so that a job that takes long keeps nobody waiting. The program answers each
 * message with one, in their order. The thread runs only while it is used, and keeps the process only while it has a job.
 */
export class JobThread<Job, Result> {
  readonly #program: URL;
  readonly #limits: ThreadLimits;
  #worker: Worker | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(program: URL, limits: ThreadLimits) {
    this.#program = program;
    this.#limits = limits;
  }

  /** Gives the failure of a job that takes too long or too much memory, or that makes the program fail. Never rejects. */
  run(job: Job): Promise<Result | JobFailure> {
    clearTimeout(this.#idle);
    this.#waiting += 1;
    const result = this.#last.then(() => this.#ask(job));
    this.#last = result.then(() => this.#rest());
    return result;
  }

  #ask(job: Job): Promise<Result | JobFailure> {
    const { promise, resolve } = Promise.withResolvers<Result | JobFailure>();
    const worker = (this.#worker ??= this.#start());
    const giveUp = (failed: string) => resolve({ failed });
    const onError = (error: unknown) => giveUp(errorText(error));
    const onExit = () => giveUp("the thread has ended");
    const stop = this.#limit(() => {
      giveUp(`it takes longer than ${this.#limits.jobMs} ms`);
      this.#end();
    });
    worker.once("message", resolve).once("error", onError).once("exit", onExit).ref();
    worker.postMessage(job);
    return promise.finally(() => {
      stop();
      worker.off("message", resolve).off("error", onError).off("exit", onExit);
    });
  }

  /** Calls when the process has used a job's time since now, or the job has lasted for many times as long. */
  #limit(exceeded: () => void): () => void {
    const { jobMs } = this.#limits;
    const [begun, used] = [performance.now(), processorMs()];
    const look = () => {
      const left = jobMs - (processorMs() - used);
      if (left <= 0 || performance.now() - begun > MOST_TIMES * jobMs) exceeded();
      else timer = setTimeout(look, Math.max(LEAST_LOOK_MS, left));
    };
    let timer = setTimeout(look, jobMs);
    return () => clearTimeout(timer);
  }

  #start(): Worker {
    const { old, young } = this.#limits.heapMb;
    const resourceLimits = { maxOldGenerationSizeMb: old, maxYoungGenerationSizeMb: young };
    const worker = new Worker(this.#program, { resourceLimits, execArgv: [] });
    // The job gets the error. Without a listener, a later one would end the process.
    worker.on("error", () => this.#end());
    worker.once("exit", () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    return worker;
  }

  /** A thread that waits for a job must not keep the process. */
  #rest(): void {
    this.#waiting -= 1;
    if (this.#waiting > 0) return;
    this.#worker?.unref();
    this.#idle = setTimeout(() => this.#end(), this.#limits.idleMs).unref();
  }

  #end(): void {
    if (this.#worker) background("end of a thread", this.#worker.terminate());
    this.#worker = undefined;
  }
}

/**
 * URL of a thread's program: in the sources where those run, else in the bundle. `source` is its file beside the
 * caller's, whose `import.meta.url` is `here`; the bundle has it under the same name.
 */
export function programUrl(here: string, source: string): URL {
  if (here.endsWith(".ts")) return new URL(`./${source}.ts`, here);
  return new URL(here.includes("/chunks/") ? `../${source}.js` : `./${source}.js`, here);
}
