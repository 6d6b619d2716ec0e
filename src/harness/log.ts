import type { RunEvent, RunEventBody, RunStream } from "../types/events.ts";
import type { Usage } from "../types/model.ts";
import type { RunFacts, RunResult } from "../types/run.ts";
import { addUsage, emptyUsage } from "../types/usage.ts";

/** The event log of one run: one writer, any number of readers, each with a cursor of its own. */
export class RunLog implements RunStream {
  /** Of a queued run the session id is known only when it starts. */
  facts: RunFacts;
  readonly done: Promise<RunResult>;
  readonly #events: RunEvent[] = [];
  readonly #waiting: (() => void)[] = [];
  #ended = false;
  #calls = 0;
  #usage = emptyUsage();
  #filled = 0;
  #finish: (result: RunResult) => void = () => undefined;

  constructor(facts: RunFacts) {
    this.facts = facts;
    this.done = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Model calls and their tokens so far. */
  get cost(): { readonly calls: number; readonly usage: Usage } {
    return { calls: this.#calls, usage: this.#usage };
  }

  /** Tokens of the last model call: what the conversation fills of the window. 0 when none came through. */
  get filled(): number {
    return this.#filled;
  }

  /** Nothing follows `run_end`: what comes after it is forgotten. */
  emit(body: RunEventBody): void {
    if (this.#ended) return;
    this.#events.push({ ...body, seq: this.#events.length + 1, ts: Date.now() });
    if (body.type === "usage") {
      this.#calls += 1;
      this.#usage = addUsage(this.#usage, body.usage);
      if (body.usage.totalTokens > 0) this.#filled = body.usage.totalTokens;
    }
    if (body.type === "compaction" && body.phase === "end") {
      this.#calls += body.calls;
      this.#usage = addUsage(this.#usage, body.usage);
    }
    if (body.type === "run_end") {
      this.#ended = true;
      this.#finish(body.result);
    }
    for (const wake of this.#waiting.splice(0)) wake();
  }

  async *watch(from = 1): AsyncGenerator<RunEvent> {
    for (let next = from - 1; ;) {
      const event = this.#events[next];
      if (event) {
        next += 1;
        yield event;
      } else if (this.#ended) {
        return;
      } else {
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
      }
    }
  }
}
