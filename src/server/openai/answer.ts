import type { ServerResponse } from "node:http";
import type { Clock } from "../../types/clock.ts";
import type { RunEvent } from "../../types/run/events.ts";
import type { Usage } from "../../types/run/model.ts";
import type { RunResult } from "../../types/run/run.ts";
import { errorBody, fromFailure, stopped, type ApiError } from "./errors.ts";
import { background } from "../../utils/background.ts";

/** Fields that every chunk of an answer repeats. */
export interface AnswerHead {
  readonly id: string;
  readonly model: string;
  /** Epoch seconds. */
  readonly created: number;
}

export type RunEnd = RunEvent & { readonly type: "run_end" };

/** The error of a run that failed or was aborted; undefined for one that replied. */
export function endError(result: RunResult): ApiError | undefined {
  if (result.kind === "failed") return fromFailure(result.failure);
  return result.kind === "aborted" ? stopped(`the run was aborted by ${result.by}`) : undefined;
}

const finishReason = (result: RunResult) => (result.kind === "replied" ? result.stop : "stop");

function usageOf(usage: Usage) {
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead },
  };
}

export function wholeAnswer(head: AnswerHead, text: string, end: RunEnd) {
  const message = { role: "assistant", content: text, refusal: null };
  const choice = { index: 0, message, logprobs: null, finish_reason: finishReason(end.result) };
  return { ...head, object: "chat.completion", choices: [choice], usage: usageOf(end.receipt.usage) };
}

const KEEP_ALIVE_MS = 15_000;

/** Writes one answer as server-sent events. Sends nothing before the first text, so that an early failure can set the status. */
export class EventWriter {
  readonly #raw: ServerResponse;
  readonly #head: AnswerHead;
  readonly #clock: Clock;
  #cancel: () => void;

  constructor(raw: ServerResponse, head: AnswerHead, clock: Clock) {
    this.#raw = raw;
    this.#head = head;
    this.#clock = clock;
    this.#cancel = this.#keepAlive();
  }

  get isOpen(): boolean {
    return this.#raw.headersSent;
  }

  /** Resolves when the client can take more. */
  async text(text: string): Promise<void> {
    if (text === "") return;
    this.#open();
    await this.#chunk({ choices: [choice({ content: text }, null)] });
  }

  async finish(end: RunEnd, withUsage: boolean): Promise<void> {
    this.#open();
    await this.#chunk({ choices: [choice({}, finishReason(end.result))] });
    if (withUsage) await this.#chunk({ choices: [], usage: usageOf(end.receipt.usage) });
    await this.#write("data: [DONE]\n\n");
    this.#raw.end();
  }

  /** Ends with an error: with its status when nothing was sent yet, else inside the stream. */
  fail(error: ApiError): void {
    const body = JSON.stringify(errorBody(error));
    if (this.isOpen) this.#raw.end(`data: ${body}\n\n`);
    else {
      this.#raw.writeHead(error.status, { "content-type": "application/json; charset=utf-8" });
      this.#raw.end(body);
    }
  }

  stop(): void {
    this.#cancel();
  }

  #open(): void {
    if (this.isOpen) return;
    this.#raw.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
      connection: "keep-alive",
      "x-accel-buffering": "no",
    });
    background("start of a stream", this.#chunk({ choices: [choice({ role: "assistant", content: "" }, null)] }));
  }

  #keepAlive(): () => void {
    return this.#clock.after(KEEP_ALIVE_MS, () => {
      this.#open();
      // A client that does not read needs no keep-alive, and each one would add another waiting write.
      if (!this.#raw.writableNeedDrain) background("keep-alive of a stream", this.#write(": waiting\n\n"));
      this.#cancel = this.#keepAlive();
    });
  }

  #chunk(fields: Record<string, unknown>): Promise<void> {
    return this.#write(`data: ${JSON.stringify({ ...this.#head, object: "chat.completion.chunk", ...fields })}\n\n`);
  }

  #write(text: string): Promise<void> {
    const raw = this.#raw;
    if (raw.destroyed || raw.write(text)) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        raw.off("drain", done).off("close", done);
        resolve();
      };
      raw.on("drain", done).on("close", done);
    });
  }
}

const choice = (delta: Record<string, unknown>, finish: string | null) => ({
  index: 0,
  delta,
  logprobs: null,
  finish_reason: finish,
});
