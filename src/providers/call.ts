import type { AssistantMessageEvent } from "@mariozechner/pi-ai";
import { systemClock, type Clock } from "../types/clock.ts";
import type { AssistantMessage } from "../types/model.ts";
import { emptyMessage } from "./call/message.ts";
import type { ModelHandle } from "./catalog.ts";
import { withoutKey } from "./failure.ts";
import { emptyStream, type PiContext, type PiStream, type PiStreamOptions } from "./pi.ts";

/** What the provider's answer told beside its text. */
export interface CallFacts {
  readonly status?: number;
  readonly retryAfterMs?: number;
  readonly requestId?: string;
}

export type CallOptions = PiStreamOptions & {
  /** Silence that ends the call; without it a call may be silent for ever. */
  readonly idleMs?: number;
  /** Told once, right before the last event. */
  onFacts?(facts: CallFacts): void;
  readonly clock?: Clock;
};

/**
 * Asks a model once: the SDK never tries again on its own. Never throws and never rejects: the last event is `done`, or
 * `error` with the content so far. An abort of `options.signal` ends the stream at once.
 */
export function callModel(handle: ModelHandle, context: PiContext, options: CallOptions): PiStream {
  const call = new Call(handle, options);
  void call.run(context);
  return call.out;
}

class Call {
  readonly out = emptyStream();
  readonly #handle: ModelHandle;
  readonly #options: CallOptions;
  readonly #clock: Clock;
  readonly #request = new AbortController();
  #partial: AssistantMessage | undefined;
  #isEnded = false;
  #lastSign: number;
  #forgetTimer = () => {};

  constructor(handle: ModelHandle, options: CallOptions) {
    this.#handle = handle;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#lastSign = this.#clock.now();
  }

  async run(context: PiContext): Promise<void> {
    const { signal } = this.#options;
    if (signal?.aborted) return this.#abort();
    signal?.addEventListener("abort", this.#abort, { once: true });
    this.#watchSilence();
    try {
      for await (const event of this.#ask(context)) this.#take(event);
      this.#fail("The stream ended before its last event.");
    } catch (error) {
      this.#fail(error instanceof Error ? error.message : String(error));
    }
  }

  #ask(context: PiContext): PiStream {
    const { idleMs: _idle, onFacts: _facts, clock: _clock, ...options } = this.#options;
    const { pi, apiKey, stream } = this.#handle;
    return stream(pi, context, { ...options, apiKey, maxRetries: 0, signal: this.#request.signal });
  }

  #take(event: AssistantMessageEvent): void {
    this.#lastSign = this.#clock.now();
    if (event.type === "done") return this.#end(event);
    if (event.type === "error") {
      this.#partial = event.error;
      return this.#fail(event.error.errorMessage ?? "");
    }
    this.#partial = event.partial;
    if (!this.#isEnded) this.out.push(event);
  }

  #watchSilence(): void {
    const { idleMs } = this.#options;
    if (idleMs === undefined || this.#isEnded) return;
    const left = this.#lastSign + idleMs - this.#clock.now();
    if (left > 0) this.#forgetTimer = this.#clock.after(left, () => this.#watchSilence());
    else this.#fail(`The model timed out: it was silent for ${idleMs / 1000} s.`);
  }

  readonly #abort = (): void => {
    this.#end({ type: "error", reason: "aborted", error: this.#failed("aborted", "Request was aborted") });
  };

  #fail(text: string): void {
    this.#end({ type: "error", reason: "error", error: this.#failed("error", text) });
  }

  #failed(stopReason: "error" | "aborted", text: string): AssistantMessage {
    const message = structuredClone(this.#partial ?? emptyMessage(this.#handle.pi));
    return { ...message, stopReason, errorMessage: withoutKey(text, this.#handle.apiKey) };
  }

  #end(event: AssistantMessageEvent): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#forgetTimer();
    this.#options.signal?.removeEventListener("abort", this.#abort);
    this.#request.abort();
    this.#options.onFacts?.({});
    this.out.push(event);
    this.out.end();
  }
}
