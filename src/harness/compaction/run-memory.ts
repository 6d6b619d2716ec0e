import type { EngineCompacted, EngineCompaction, EngineTurn } from "../../types/engine/engine-turn.ts";
import { withFix } from "../../types/errors.ts";
import type { ModelHandle } from "../../providers/catalog.ts";
import type { ModelRef } from "../../types/run/model.ts";
import type { CompactionEvent } from "../../types/run/events.ts";
import { isSameModel } from "../../types/run/model.ts";
import { originOf } from "../../types/run/model-meter.ts";
import type { Failure, SideCost } from "../../types/run/run.ts";
import { compact, type Compacted, type Compaction, logCompaction, sizesOf } from "./compact.ts";
import { costsOf, type RunLog } from "../log/log.ts";
import type { Shown } from "../run/plan.ts";
import type { RunDeps, RunRequest } from "../request.ts";
import { Stopped } from "../run/until-stopped.ts";
import { windowOf, withWindow } from "../context/budget.ts";
import { type Fill, fillOf, isFull, sizesFor, summarizerModelsFor } from "./summarizer-models.ts";

export interface MemoryParts {
  /** As it is now: hooks and a prompt that is not kept change it. */
  request(): RunRequest;
  readonly deps: RunDeps;
  readonly log: RunLog;
  readonly signal: AbortSignal;
  /** Told of each model call of the engine. */
  spent(cost: SideCost): void;
  /** Who may write a summary: the model that is asked and those behind it. */
  summarizers(): readonly ModelRef[];
}

/** A run's care for its conversation: the context engine, and room in the model's window. */
export class RunMemory {
  /** What a model was last shown. */
  shown: Shown | undefined;
  engine: EngineTurn | undefined;
  /** What became of the compaction in front of the answer. */
  #madeRoom: Compacted | undefined;
  /** What the built-in compaction came to where the engine left it to that. */
  #leftToUs: Compacted | undefined;
  /** The summary that the built-in compaction has written in this run. */
  #summary: string | undefined;
  readonly #parts: MemoryParts;

  constructor(parts: MemoryParts) {
    this.#parts = parts;
  }

  /**
   * A run without the engine that its operator chose would answer out of another memory: it fails, and says why. Rejects when
   * the run was stopped on the way.
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
      deps.log.error("context engine not to be had", { error });
      return { kind: "engine", message: withFix(error) };
    }
  }

  /** The model that was shown it takes less than was thought. */
  learned(window: number): void {
    if (!this.shown) return;
    const handle = withWindow(this.shown.handle, window);
    this.shown = { ...this.shown, handle, window: Math.min(this.shown.window, window) };
  }

  /** See `Run.settle`. */
  async settle(): Promise<void> {
    const { log } = this.#parts;
    const shown = this.shown;
    if (!shown) return this.engine?.end(undefined);
    await this.engine?.end({
      messages: shown.messages(),
      prePromptMessageCount: shown.before,
      tokenBudget: shown.window,
      currentTokenCount: log.filled,
      ...(log.lastUsage && { lastCallUsage: log.lastUsage }),
      ...(this.#summary !== undefined && { autoCompactionSummary: this.#summary }),
      model: shown.handle.info,
    });
  }

  /** See `Run.fill`. */
  async fill(): Promise<Fill | undefined> {
    const { log } = this.#parts;
    const { conversation, settings } = this.#parts.request();
    const { shown } = this;
    if (!shown) return undefined;
    const home = await this.#home(shown.handle);
    if (home === shown.handle || shown.isByEngine)
      return fillOf({ ...shown, handle: home }, { conversation, filled: log.filled }, settings);
    // What a stand-in was shown says nothing of the other's window.
    const window = windowOf(home.info, settings);
    const { estimatedTokens } = await conversation.window(window);
    return { filled: estimatedTokens + shown.fixed, window };
  }

  /**
   * The model by whose window the conversation is kept: the first that may be asked. Another that stands in for it today
   * may have a smaller one, and what is summed up for that is gone for good.
   */
  async #home(asked: ModelHandle): Promise<ModelHandle> {
    const { deps, request } = this.#parts;
    const [first] = request().choice.candidates;
    if (!first || isSameModel(first, asked.info)) return asked;
    const found = await deps.models.find(first);
    return "missing" in found ? asked : found;
  }

  /** Before a model answers without older turns that no summary stands for: they are summed up, once a run. True when they were. */
  async compactBeforeAnswer(handle: ModelHandle): Promise<boolean> {
    const { log, request } = this.#parts;
    const { choice, facts } = request();
    const [first] = choice.candidates;
    const isStandIn = first !== undefined && !isSameModel(first, handle.info);
    if (this.#madeRoom || isStandIn || this.engine?.ownsCompaction === true || facts.trigger === "memory") return false;
    this.#madeRoom = await this.#compactHere("room", (event) => log.emit(event), {
      asked: handle,
      mostMs: ROOM_MS,
    });
    return this.#madeRoom.kind === "done";
  }

  /** See `Run.compactWhenFull`. */
  async compactWhenFull(emit: Compaction["emit"] = () => undefined): Promise<Compacted | undefined> {
    const { deps, request, signal } = this.#parts;
    if (signal.aborted || this.engine?.ownsCompaction === true || this.#isNoUse()) return undefined;
    const fill = await this.fill();
    if (!fill || !isFull(fill, request().settings)) return undefined;
    // The run's own log has ended.
    return this.#compactHere("full", (event) => {
      logCompaction(event, deps.log);
      emit(event);
    });
  }

  /** Skips the compaction after the turn when one before the answer gained nothing. */
  #isNoUse(): boolean {
    const made = this.#madeRoom;
    return made?.kind === "nothing" && (made.because === "no_gain" || made.because === "unchanged");
  }

  /** After an overflow. An engine's own way first: what it does is not ours to do again. */
  async compact(): Promise<Compacted> {
    const { log, signal } = this.#parts;
    const { engine, shown } = this;
    // For a fallback model, drop what it cannot accept, but keep the primary model's history unchanged.
    if (shown && (await this.#home(shown.handle)) !== shown.handle) return { kind: "nothing", because: "later" };
    if (!engine || !shown) return this.#compactHere("overflow", (event) => log.emit(event));
    this.#leftToUs = undefined;
    const done = await engine.compact({
      tokenBudget: shown.budget,
      currentTokenCount: shown.tokens,
      why: "overflow",
      model: shown.handle.info,
      signal,
    });
    if (done.kind === "nothing") return this.#nothingBy(done.reason);
    return { ...done, isListed: false };
  }

  #nothingBy(reason: string): Compacted {
    const { log, signal } = this.#parts;
    if (signal.aborted) return { kind: "aborted" };
    if (this.#leftToUs?.kind === "nothing") return this.#leftToUs;
    log.emit({ type: "notice", because: "engine", text: `The context engine compacted nothing: ${reason}` });
    return { kind: "nothing", because: "unchanged", reason };
  }

  async #compactFor({ why }: EngineCompaction): Promise<EngineCompacted> {
    const done = await this.#compactHere(why === "asked" ? "overflow" : why, (event) => this.#tell(event));
    this.#leftToUs = done;
    if (done.kind === "done") return sizesOf(done);
    return { kind: "nothing", reason: done.kind === "aborted" ? "aborted" : done.because };
  }

  /** An engine may have it done behind the run as well. */
  #tell(event: CompactionEvent): void {
    const { log, deps, spent } = this.#parts;
    if (!log.ended) return log.emit(event);
    logCompaction(event, deps.log);
    for (const cost of costsOf(event)) spent(cost);
  }

  async #compactHere(
    why: "full" | "room" | "overflow",
    emit: Compaction["emit"],
    { asked = this.shown?.handle, mostMs = Infinity }: { asked?: ModelHandle | undefined; mostMs?: number } = {},
  ): Promise<Compacted> {
    const { deps, signal, summarizers } = this.#parts;
    const { conversation, turn, settings, facts } = this.#parts.request();
    if (!asked) return { kind: "nothing", because: "small" };
    const done = await compact({
      conversation,
      summarizers: await summarizerModelsFor(summarizers(), settings, deps.models),
      models: deps.models,
      ...limited(sizesFor(await this.#home(asked), settings), mostMs),
      origin: originOf(facts, "compaction"),
      clock: deps.clock,
      signal,
      why,
      // Behind its turn nothing of it has to be found again.
      ...(why !== "full" && { keepFrom: turn.entryId }),
      emit,
    });
    // What is left is looked at anew.
    if (done.kind === "done") {
      deps.pruned?.forget(facts.sessionId);
      this.#summary = done.summary;
    }
    return done;
  }
}

/** A message that waits for its answer waits no longer for a summary in front of it. */
const ROOM_MS = 60_000;

const limited = ({ settings, window }: ReturnType<typeof sizesFor>, mostMs: number) => ({
  window,
  settings: { ...settings, timeoutMs: Math.min(settings.timeoutMs, mostMs) },
});
