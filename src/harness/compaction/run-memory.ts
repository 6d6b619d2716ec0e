import type { EngineCompacted, EngineCompaction, EngineTurn } from "../../types/engine/engine-turn.ts";
import { withFix } from "../../types/errors.ts";
import type { ModelHandle } from "../../providers/catalog.ts";
import type { ModelRef } from "../../types/run/model.ts";
import type { CompactionEvent } from "../../types/run/events.ts";
import { isSameModel } from "../../types/run/model.ts";
import { callOriginOf } from "../../types/run/model-meter.ts";
import type { Failure, SideCost } from "../../types/run/run.ts";
import {
  compact,
  type Compacted,
  type Compaction,
  logCompaction,
  compactedSizes,
  withCompactionHooks,
} from "./compact.ts";
import { costsOf, type RunLog } from "../log/run-log.ts";
import type { Shown } from "../run/plan.ts";
import type { RunDeps, RunRequest } from "../request.ts";
import { boundHooks } from "../context/hooks.ts";
import { Stopped } from "../run/until-stopped.ts";
import { windowOf, withWindow } from "../context/budget.ts";
import { engineModel } from "../context/engine-view.ts";
import { type Fill, fillOf, isFull, sizesFor, summarizerModelsFor } from "./summarizer-models.ts";

export interface RunMemoryParts {
  /** The current request: hooks and volatile prompts change it. */
  request(): RunRequest;
  readonly deps: RunDeps;
  readonly log: RunLog;
  readonly signal: AbortSignal;
  /** Called for each model call of the engine. */
  spent(cost: SideCost): void;
  /** The models that may write a summary: the current one and its fallbacks. */
  summarizers(): readonly ModelRef[];
}

/** The context engine of a run, and the compactions that keep the conversation within the model's window. */
export class RunMemory {
  /** The conversation as a model was last shown it. */
  shown: Shown | undefined;
  engine: EngineTurn | undefined;
  /** The result of the compaction before the answer. */
  #beforeAnswer: Compacted | undefined;
  /** The result of the built-in compaction that the engine delegated to. */
  #delegated: Compacted | undefined;
  #isEngineCompacting = false;
  /** The summary that the built-in compaction has written in this run. */
  #summary: string | undefined;
  readonly #parts: RunMemoryParts;

  constructor(parts: RunMemoryParts) {
    this.#parts = parts;
  }

  /**
   * Opens the context engine. Returns the failure of a run whose engine cannot be opened: without the engine that its
   * operator chose, the run would answer from another memory. Rejects when the run is stopped meanwhile.
   */
  async openEngine(): Promise<Failure | undefined> {
    const { deps, signal } = this.#parts;
    try {
      this.engine = await this.#parts.request().openEngine?.({
        signal,
        spent: (cost) => this.#parts.spent(cost),
        compact: (job) => this.#compactFor(job),
      });
      await this.engine?.begin(signal);
      return undefined;
    } catch (error) {
      if (error instanceof Stopped) throw error;
      deps.log.error("context engine not available", { error });
      return { kind: "engine", message: withFix(error) };
    }
  }

  /** Called when a refused request of this conversation showed that the model's window is smaller than assumed. */
  learned(window: number): void {
    if (!this.shown) return;
    const handle = withWindow(this.shown.handle, window);
    this.shown = { ...this.shown, handle, window: Math.min(this.shown.window, window) };
  }

  /** See `Run.settle`. */
  async settle(): Promise<void> {
    const { log, deps } = this.#parts;
    const shown = this.shown;
    if (this.engine) await deps.waits?.stored();
    if (!shown) return this.engine?.end(undefined);
    await this.engine?.end({
      messages: shown.messages(),
      prePromptMessageCount: shown.before,
      tokenBudget: shown.window,
      currentTokenCount: log.filled,
      ...(log.lastUsage && { lastCallUsage: log.lastUsage }),
      ...(this.#summary !== undefined && { autoCompactionSummary: this.#summary }),
      ...engineModel(shown.handle),
    });
  }

  /** See `Run.fill`. */
  async fill(): Promise<Fill | undefined> {
    const { log } = this.#parts;
    const { conversation, settings } = this.#parts.request();
    const { shown } = this;
    if (!shown) return undefined;
    const keeper = await this.#keeper(shown.handle);
    if (keeper === shown.handle || shown.isByEngine)
      return fillOf({ ...shown, handle: keeper }, { conversation, filled: log.filled }, settings);
    // The figures of a fallback model do not apply to the primary model's window.
    const window = windowOf(keeper.info, settings);
    const { estimatedTokens } = await conversation.window(window);
    return { filled: estimatedTokens + shown.fixed, window, fixed: shown.fixed };
  }

  /**
   * The model whose window decides how much of the conversation is kept: the first candidate. A fallback model may have
   * a smaller window, and the messages that are summarised for it are lost to the primary model for good.
   */
  async #keeper(asked: ModelHandle): Promise<ModelHandle> {
    const { deps, request } = this.#parts;
    const [first] = request().choice.candidates;
    if (!first || isSameModel(first, asked.info)) return asked;
    const found = await deps.models.find(first);
    return "missing" in found ? asked : found;
  }

  /**
   * Summarises older turns that do not fit, before a model answers without them; once a run. True when they are
   * summarised.
   */
  async compactBeforeAnswer(handle: ModelHandle): Promise<boolean> {
    const { log, request } = this.#parts;
    const { choice, facts } = request();
    const [first] = choice.candidates;
    const isStandIn = first !== undefined && !isSameModel(first, handle.info);
    if (this.#beforeAnswer || isStandIn || this.engine?.ownsCompaction === true || facts.trigger === "memory")
      return false;
    this.#beforeAnswer = await this.#compactHere("before_answer", (event) => log.emit(event), {
      asked: handle,
      mostMs: BEFORE_ANSWER_MS,
    });
    return this.#beforeAnswer.kind === "done";
  }

  /** See `Run.compactWhenFull`. */
  async compactWhenFull(emit: Compaction["emit"] = () => undefined): Promise<Compacted | undefined> {
    const { deps, request, signal } = this.#parts;
    if (signal.aborted || this.engine?.ownsCompaction === true || this.#gainsNothing()) return undefined;
    const fill = await this.fill();
    const { settings } = request();
    if (!fill || settings.compaction?.when === "asked" || !isFull(fill, settings)) return undefined;
    await deps.waits?.stored();
    // The run's own log has ended, so the events go to the operator's log.
    const told = (event: CompactionEvent): void => {
      logCompaction(event, deps.log);
      emit(event);
    };
    return this.#compactHere("full", told, { fixed: fill.fixed });
  }

  /**
   * Whether the compaction after the turn is skipped, because the compaction before the answer gained nothing, or its
   * models were busy: the next turn asks them again.
   */
  #gainsNothing(): boolean {
    const earlier = this.#beforeAnswer;
    return earlier?.kind === "nothing" && (earlier.isBusy === true || POINTLESS.has(earlier.because));
  }

  /** Compacts the conversation after an overflow. Where there is an engine, it compacts by itself. */
  async compact(): Promise<Compacted> {
    const { deps, log, request, signal } = this.#parts;
    const { engine, shown } = this;
    // For a fallback model, the parts that it cannot accept are left out, and the primary model's history stays
    // unchanged.
    if (shown && (await this.#keeper(shown.handle)) !== shown.handle) return { kind: "nothing", because: "later" };
    if (!engine || !shown) return this.#compactHere("overflow", (event) => log.emit(event));
    this.#delegated = undefined;
    const watched = { conversation: request().conversation, hooks: boundHooks(request(), deps) };
    this.#isEngineCompacting = true;
    const done = await withCompactionHooks(watched, shown.tokens, () =>
      engine.compact({
        tokenBudget: shown.budget,
        currentTokenCount: shown.tokens,
        why: "overflow",
        ...engineModel(shown.handle),
        signal,
      }),
    ).finally(() => (this.#isEngineCompacting = false));
    if (done.kind === "nothing") return this.#nothingBy(done.reason);
    return { ...done, isListed: false };
  }

  #nothingBy(reason: string): Compacted {
    const { log, signal } = this.#parts;
    if (signal.aborted) return { kind: "aborted" };
    if (this.#delegated?.kind === "nothing") return this.#delegated;
    log.emit({ type: "notice", because: "engine", text: `The context engine compacted nothing: ${reason}` });
    return { kind: "nothing", because: "unchanged", reason };
  }

  async #compactFor({ why }: EngineCompaction): Promise<EngineCompacted> {
    const done = await this.#compactHere(why === "asked" ? "overflow" : why, (event) => this.#report(event));
    this.#delegated = done;
    if (done.kind === "done") return compactedSizes(done);
    return { kind: "nothing", reason: done.kind === "aborted" ? "aborted" : done.because };
  }

  /** Reports an event of a compaction that an engine delegated, which it may also do after the run's end. */
  #report(event: CompactionEvent): void {
    const { log, deps, spent } = this.#parts;
    if (!log.ended) return log.emit(event);
    logCompaction(event, deps.log);
    for (const cost of costsOf(event)) spent(cost);
  }

  async #compactHere(
    why: "full" | "before_answer" | "overflow",
    emit: Compaction["emit"],
    { asked = this.shown?.handle, fixed = this.shown?.fixed, mostMs = Infinity }: HowCompacted = {},
  ): Promise<Compacted> {
    const { deps, signal, summarizers } = this.#parts;
    const { conversation, turn, settings, facts } = this.#parts.request();
    if (settings.compaction?.when === "asked") return { kind: "nothing", because: "off" };
    if (!asked) return { kind: "nothing", because: "small" };
    const done = await compact({
      conversation,
      // The compaction of an engine calls the hooks itself.
      ...(!this.#isEngineCompacting && { hooks: boundHooks(this.#parts.request(), deps) }),
      summarizers: await summarizerModelsFor(summarizers(), settings, deps.models),
      models: deps.models,
      ...limited(sizesFor(await this.#keeper(asked), settings), mostMs),
      fixed,
      origin: callOriginOf(facts, "compaction"),
      clock: deps.clock,
      signal,
      why,
      // After the turn no attempt needs its messages any more.
      ...(why !== "full" && { keepFrom: turn.entryId }),
      emit,
    });
    // The messages that are left are pruned anew.
    if (done.kind === "done") {
      deps.pruned?.forget(facts.sessionId);
      this.#summary = done.summary;
    }
    return done;
  }
}

const POINTLESS: ReadonlySet<string> = new Set(["no_gain", "unchanged"]);

interface HowCompacted {
  readonly asked?: ModelHandle | undefined;
  readonly fixed?: number | undefined;
  readonly mostMs?: number;
}

/** The most milliseconds that a message waits for the summary before its answer. */
const BEFORE_ANSWER_MS = 60_000;

const limited = ({ settings, window }: ReturnType<typeof sizesFor>, mostMs: number) => ({
  window,
  settings: { ...settings, timeoutMs: Math.min(settings.timeoutMs, mostMs) },
});
