import type { ChatPort } from "../../types/chat/chat.ts";
import type { Clock } from "../../types/clock.ts";
import { WHOLE_MESSAGES, type RunEvent, type RunStream } from "../../types/run/events.ts";
import type { RunId } from "../../types/ids.ts";
import type { Receipt, RunResult } from "../../types/run/run.ts";

/**
 * The stream of a run that exists or begins before the signal aborts; a run may have to wait for another of its session.
 * Undefined when it did not begin.
 */
export async function findRun(chat: ChatPort, runId: RunId, signal: AbortSignal): Promise<RunStream | undefined> {
  const over = new AbortController();
  // Watch first, so that a run that begins in between is not missed.
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

/** A signal that aborts after `ms` milliseconds unless `cancel` is called. */
export function deadline(clock: Clock, ms: number): { readonly signal: AbortSignal; cancel(): void } {
  const controller = new AbortController();
  const cancel = clock.after(ms, () => controller.abort());
  return { signal: controller.signal, cancel };
}

export interface RunOutcome {
  readonly startedAt: number;
  readonly endedAt: number;
  /** All text that the user would see, with blank lines between messages. */
  readonly text: string;
  readonly result: RunResult;
  readonly receipt: Receipt;
}

/** Collects the messages of a run into a text, with blank lines between the messages. */
export class RunText {
  #text = "";
  #message = "";
  /** Text of the message that may turn out to be a thought. */
  #unsure = "";
  /** How much of the text is of earlier messages. */
  #before = 0;
  #isApart = false;

  get text(): string {
    return this.#text;
  }

  /** Returns the text that the event adds. */
  add(event: RunEvent): string {
    switch (event.type) {
      case "message_start":
        this.#message = "";
        this.#before = this.#text.length;
        return this.#part();
      case "text_delta":
        if (event.anew) this.#takeBack();
        this.#message = event.text;
        return this.#addDelta(event);
      case "message_end":
        return this.#finish(event.text);
      case "answer":
        // The end of the run reports the failure.
        if (event.because === "error") return "";
        this.#part();
        return this.#append(event.text) + this.#part();
      default:
        return "";
    }
  }

  /**
   * Adds a delta. A client keeps the text that it has read, so text that may turn out to be a thought comes with the
   * first delta that may not, or with the end.
   */
  #addDelta({ delta, unsure }: RunEvent & { type: "text_delta" }): string {
    this.#unsure += delta;
    return unsure ? "" : this.#append(this.#takeUnsure());
  }

  #takeUnsure(): string {
    const text = this.#unsure;
    this.#unsure = "";
    return text;
  }

  // A message may end with more text than its deltas had, or have none. A delta without a start continues the message:
  // its answer broke off and was resumed.
  #finish(text: string): string {
    const rest = text.startsWith(this.#message) ? text.slice(this.#message.length) : "";
    this.#message = text;
    return this.#append(this.#takeUnsure() + rest);
  }

  /** Takes back the text of the message. A client keeps the part that it has read. */
  #takeBack(): void {
    this.#unsure = "";
    this.#text = this.#text.slice(0, this.#before);
    this.#part();
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

/** Reads a run to its end. Undefined when the log ends without one because the run crashed. */
export async function readOutcome(stream: RunStream): Promise<RunOutcome | undefined> {
  const text = new RunText();
  let startedAt = 0;
  for await (const event of stream.watch(1, WHOLE_MESSAGES)) {
    text.add(event);
    if (event.type === "run_start") startedAt = event.startedAt;
    if (event.type !== "run_end") continue;
    const { endedAt, result, receipt } = event;
    // A run that was aborted in the queue never started.
    return { startedAt: startedAt === 0 ? endedAt : startedAt, endedAt, text: text.text, result, receipt };
  }
  return undefined;
}
