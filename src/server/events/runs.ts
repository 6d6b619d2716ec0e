import type { ChatPort } from "../../types/chat/chat.ts";
import type { Clock } from "../../types/clock.ts";
import type { RunEvent, RunStream } from "../../types/run/events.ts";
import type { RunId } from "../../types/ids.ts";
import type { Receipt, RunResult } from "../../types/run/run.ts";

/**
 * The stream of a run that is there or begins before the signal aborts; one may wait behind another run of its session.
 * Undefined when it did not begin.
 */
export async function findRun(chat: ChatPort, runId: RunId, signal: AbortSignal): Promise<RunStream | undefined> {
  const over = new AbortController();
  // Watched before looking, so that a run that begins in between is not missed.
  const runs = chat.runs(AbortSignal.any([signal, over.signal]));
  try {
    const known = chat.stream(runId);
    if (known !== undefined) return known;
    for await (const stream of runs) if (stream.facts.runId === runId) return stream;
    return undefined;
  } finally {
    over.abort();
  }
}

/** A signal that aborts after a while. `cancel` forgets it. */
export function deadline(clock: Clock, ms: number): { readonly signal: AbortSignal; cancel(): void } {
  const controller = new AbortController();
  const cancel = clock.after(ms, () => controller.abort());
  return { signal: controller.signal, cancel };
}

export interface RunOutcome {
  readonly startedAt: number;
  readonly endedAt: number;
  /** All that the user would see of it, messages parted by blank lines. */
  readonly text: string;
  readonly result: RunResult;
  readonly receipt: Receipt;
}

/** Text as it comes, messages parted by blank lines: what a reader of one growing text wants. */
export class RunText {
  #text = "";
  #message = "";
  #isApart = false;

  get text(): string {
    return this.#text;
  }

  /** What the event adds to the text. */
  add(event: RunEvent): string {
    switch (event.type) {
      case "message_start":
        this.#message = "";
        return this.#part();
      case "text_delta":
        this.#message = event.text;
        return this.#append(event.delta);
      case "message_end":
        return this.#finish(event.text);
      case "answer":
        // How it failed is told by the end of the run.
        if (event.because === "error") return "";
        this.#part();
        return this.#append(event.text) + this.#part();
      default:
        return "";
    }
  }

  // A message may end with more than its deltas told, or come without any. What follows without a start goes on with it:
  // an answer that broke off and was continued.
  #finish(text: string): string {
    const rest = text.startsWith(this.#message) ? text.slice(this.#message.length) : "";
    this.#message = text;
    return this.#append(rest);
  }

  #part(): string {
    this.#isApart = this.#text !== "";
    return "";
  }

  #append(addition: string): string {
    if (addition === "") return "";
    const added = this.#isApart ? `\n\n${addition}` : addition;
    this.#isApart = false;
    this.#text += added;
    return added;
  }
}

/** Reads a run to its end. Undefined when the log ended without one, which a crash of the run leaves. */
export async function readOutcome(stream: RunStream): Promise<RunOutcome | undefined> {
  const text = new RunText();
  let startedAt = 0;
  for await (const event of stream.watch()) {
    text.add(event);
    if (event.type === "run_start") startedAt = event.startedAt;
    if (event.type !== "run_end") continue;
    const { endedAt, result, receipt } = event;
    // A run that was ended in the queue never started.
    return { startedAt: startedAt === 0 ? endedAt : startedAt, endedAt, text: text.text, result, receipt };
  }
  return undefined;
}
