import type { Complete } from "../../history/compaction/summarise.ts";
import { textOfAnswer } from "../../history/parts.ts";
import { callModel, type CallFacts } from "../../providers/call.ts";
import type { ModelHandle, Models } from "../../providers/catalog.ts";
import { classifyFailure } from "../../providers/failure.ts";
import type { Clock } from "../../types/clock.ts";
import type { CallOrigin } from "../../types/run/model-meter.ts";
import type { Failure, FailureKind, SideCost } from "../../types/run/run.ts";
import type { Usage } from "../../types/run/model.ts";
import { addCost } from "../log/run-stats.ts";
import { pause } from "../../utils/pause.ts";

/** Milliseconds of silence after which the call of a summary has stalled. */
const IDLE_MS = 120_000;
/**
 * The most further tries of one compaction after failures that pass, with all keys and models together, and the first
 * wait before such a try, in milliseconds.
 */
const MOST_WAITS = 2;
const WAIT_MS = 1000;
/** Whether a failure is over in a while, so that a summary can be written later. */
const isOverLater = (kind: FailureKind): boolean => kind === "budget" || PASSING.has(kind);

/** The longest wait in milliseconds. A provider that asks for a longer pause is not waited for. */
const LONGEST_WAIT_MS = 30_000;

/** Failures after which the same key is worth another try. */
const PASSING: ReadonlySet<FailureKind> = new Set([
  "rate_limit",
  "overloaded",
  "loading",
  "timeout",
  "network",
  "cut_off",
]);

export interface SummarizerParts {
  /** The models, in the order in which they are tried. */
  readonly summarizers: readonly ModelHandle[];
  /** The most tokens of one summary. */
  readonly maxTokens: number;
  /** The origin of the model calls. */
  readonly origin: CallOrigin;
  readonly clock: Clock;
  /** Finds the other keys of a model and records how each key did; each model has one key when unset. */
  readonly models?: Pick<Models, "find" | "keys"> | undefined;
}

/** Asks the models in turn for summaries. A model that failed for good is not asked again. */
export class Summarizer {
  readonly #parts: SummarizerParts;
  #summarizers: readonly ModelHandle[];
  #author: ModelHandle | undefined;
  #costs: readonly SideCost[] = [];
  #busy = false;
  #waits = 0;
  readonly #passedOver: string[] = [];

  constructor(parts: SummarizerParts) {
    this.#parts = parts;
    // The demo model only echoes.
    this.#summarizers = parts.summarizers.filter((writer) => writer.info.demo !== true);
  }

  /** Tokens of the first model's window; undefined when there is none. */
  get window(): number | undefined {
    const [first] = this.#summarizers;
    return first && Math.min(first.info.contextWindow, first.limits.named ?? Infinity);
  }

  /** Whether a model failed in a way that passes, so that a later summary may succeed. */
  get isBusy(): boolean {
    return this.#busy;
  }

  get spent(): {
    /** The cost of each model that was asked, also of calls that failed or were stopped. */
    readonly costs: readonly SideCost[];
    readonly author: ModelHandle | undefined;
    /** Models that wrote nothing, and why. */
    readonly passedOver: readonly string[];
  } {
    return { costs: this.#costs, author: this.#author, passedOver: this.#passedOver };
  }

  readonly complete: Complete = async (prompt, signal) => {
    let failure = "no model is available to write it";
    this.#busy = false;
    for (const writer of this.#summarizers) {
      const said = await this.#askWithKeys(writer, prompt, signal);
      if (typeof said === "string") return said;
      failure = said.failure;
      if (signal.aborted) break;
      const { provider, id } = writer.info;
      this.#passedOver.push(`${provider}/${id}: ${failure}`);
      this.#summarizers = this.#summarizers.slice(1);
    }
    return { failure };
  };

  /** Asks one model with its keys. A failed key is in its cooldown, so `find` gives the next key. */
  async #askWithKeys(
    first: ModelHandle,
    prompt: Parameters<Complete>[0],
    signal: AbortSignal,
  ): Promise<string | { failure: string }> {
    const tried = new Set<string>();
    let writer = first;
    for (;;) {
      tried.add(writer.profile.id);
      const said = await this.#askPatiently(writer, prompt, signal);
      if (typeof said === "string" || signal.aborted) return said;
      const other = await this.#parts.models?.find(first.info);
      if (!other || "missing" in other || tried.has(other.profile.id)) return said;
      writer = other;
    }
  }

  async #askPatiently(
    writer: ModelHandle,
    prompt: Parameters<Complete>[0],
    signal: AbortSignal,
  ): Promise<string | { failure: string }> {
    for (;;) {
      const said = await this.#ask(writer, prompt, signal);
      if (typeof said === "string" || signal.aborted) return said;
      const { kind, message, retryAfterMs = WAIT_MS * 2 ** this.#waits } = said;
      const isRetried = PASSING.has(kind) && this.#waits < MOST_WAITS && retryAfterMs <= LONGEST_WAIT_MS;
      this.#waits += 1;
      if (!isRetried) {
        this.#busy ||= isOverLater(kind);
        this.#parts.models?.keys.failed(writer.info, writer.profile.id, said);
        return { failure: message };
      }
      await pause(retryAfterMs, { clock: this.#parts.clock, signal });
      if (signal.aborted) return { failure: "aborted" };
    }
  }

  async #ask(
    writer: ModelHandle,
    { system, text }: Parameters<Complete>[0],
    signal: AbortSignal,
  ): Promise<string | (Failure & { failure: string })> {
    const { info } = writer;
    const maxTokens = Math.min(info.maxTokens, this.#parts.maxTokens);
    const context = {
      systemPrompt: system,
      messages: [{ role: "user" as const, content: [{ type: "text" as const, text }], timestamp: 0 }],
    };
    let facts: CallFacts = {};
    const message = await callModel(writer, context, {
      origin: this.#parts.origin,
      maxTokens,
      signal,
      idleMs: IDLE_MS,
      onFacts: (seen) => void (facts = seen),
      onSettled: ({ usage }) => this.#charge(writer, usage),
    }).result();
    if (signal.aborted) return { kind: "unknown", message: "aborted", failure: "aborted" };
    if (message.stopReason === "error" || message.stopReason === "aborted") {
      const failed = classifyFailure(message.errorMessage ?? message.stopReason, facts);
      return { ...failed, failure: failed.message };
    }
    this.#parts.models?.keys.succeeded(info, writer.profile.id);
    this.#author = writer;
    return textOfAnswer(message);
  }

  #charge({ info }: ModelHandle, usage: Usage): void {
    const model = { provider: info.provider, id: info.id };
    this.#costs = addCost(this.#costs, { what: "compaction", model, calls: 1, usage });
  }
}
