import type { OpenClawError } from "../types/errors.ts";
import type { CompactionEvent } from "../types/run/events.ts";
import type { ModelRef } from "../types/run/model.ts";
import type { Failure, Receipt, RunResult, SideCost } from "../types/run/run.ts";
import { attempt, type AttemptOutcome } from "./run/attempt.ts";
import type { Compacted } from "./compaction/compact.ts";
import { Deadline } from "./run/deadline.ts";
import { addToSystem, addToTurn, askHooks, tellEnd } from "./run/hooks.ts";
import { ModelSelector, type Selection } from "./failover/model-selector.ts";
import { RunLog } from "./log/log.ts";
import { LoopGuard } from "./tools/loop-guard.ts";
import { ModelWatch } from "./failover/model-watch.ts";
import type { Attempt, RunParts } from "./run/plan.ts";
import { imagesFor } from "./context/images.ts";
import { Recovery } from "./failover/recovery.ts";
import type { RunDeps, RunRequest, UserTurn } from "./request.ts";
import { openTurn, type Progress, progressOf, repeat, repeatPart, userMessage } from "./run/resume.ts";
import { RunMemory } from "./compaction/run-memory.ts";
import { Steering } from "./run/steering.ts";
import { pausing, type ToolSetting } from "./tools/tools.ts";
import { resultOfThrown, stoppable, stoppableDeps, Stopped } from "./run/until-stopped.ts";
import type { Fill } from "./compaction/summarizer-models.ts";
import { isVolatile, WithPrompt } from "./context/volatile.ts";

export type AbortCause = "user" | "timeout" | "shutdown";

/** A run under way. */
export interface Run {
  readonly stream: RunLog;
  /** Ends it within a second. */
  abort(by: AbortCause): void;
  /** Puts a turn before the next model call. False when the run ended first: the message waits for a run of its own. */
  steer(turn: UserTurn): Promise<boolean>;
  /**
   * After the run, before its session goes to the next: the context engine takes the turn in.
   * Never rejects.
   */
  settle(): Promise<void>;
  /** How full the conversation's window is behind the run; undefined when no model was shown it. */
  fill(): Promise<Fill | undefined>;
  /** The disk error that ended the run, whose turn is to be tried again; undefined for every other end. */
  diskError(): OpenClawError | undefined;
  /** The context engine sees to its own compaction. */
  ownsCompaction(): boolean;
  /**
   * After that: compacts a conversation that fills its window. An abort ends it.
   * Undefined when there was nothing to do. Rejects when the transcript cannot be written. The run's stream has ended by
   * then: `emit` hears of it.
   */
  compactWhenFull(emit?: (event: CompactionEvent) => void): Promise<Compacted | undefined>;
}

/** Starts a run of one agent over one user turn. Never throws; everything that happens is in the stream. */
export function startRun(request: RunRequest, deps: RunDeps, log = new RunLog(request.facts)): Run {
  const runner = new Runner(request, deps, log);
  runner.run().catch((error: unknown) => deps.log.error("run broke", { error }));
  return {
    stream: runner.log,
    abort: (by) => runner.abort(by),
    steer: (turn) => runner.steer(turn),
    settle: () => runner.memory.settle(),
    fill: () => runner.memory.fill(),
    diskError: () => runner.diskError,
    ownsCompaction: () => runner.memory.engine?.ownsCompaction === true,
    compactWhenFull: (emit) => runner.memory.compactWhenFull(emit),
  };
}

class Runner {
  readonly log: RunLog;
  readonly memory: RunMemory;
  #request: RunRequest;
  readonly #deps: RunDeps;
  readonly #stop = new AbortController();
  readonly #startedAt: number;
  readonly #steering = new Steering();
  readonly #guard = new LoopGuard();
  readonly #ladder: ModelSelector;
  readonly #recovery: Recovery;
  readonly #watch: ModelWatch;
  #cause: AbortCause = "user";
  #model: ModelRef;
  #lastFailure: Failure | undefined;
  diskError: OpenClawError | undefined;
  /** Ends the attempt under way, and not the run. */
  #asking: AbortController | undefined;

  constructor(given: RunRequest, lent: RunDeps, log: RunLog) {
    const request = stoppable(given, this.#stop.signal);
    const deps = stoppableDeps(lent, this.#stop.signal);
    this.#request = request;
    this.#deps = deps;
    this.#startedAt = deps.clock.now();
    this.#model = request.candidates[0] ?? { provider: "none", id: "none" };
    this.#ladder = new ModelSelector(request.candidates, deps.models, request.wish ?? {});
    this.#watch = new ModelWatch(request.conversation, request.askedBefore);
    this.log = log;
    log.facts = request.facts;
    this.#recovery = new Recovery({
      request,
      log,
      ladder: this.#ladder,
      clock: deps.clock,
      signal: this.#stop.signal,
      learned: (window) => {
        this.#ladder.learned(window);
        this.memory.learned(window);
      },
      compact: () => this.memory.compact(),
    });
    this.memory = new RunMemory({
      request: () => this.#request,
      deps,
      log,
      signal: this.#stop.signal,
      spent: (cost) => this.#spent(cost),
      summarizers: () => request.candidates.slice(this.#recovery.place.candidate),
    });
  }

  abort(by: AbortCause): void {
    if (this.#stop.signal.aborted) return;
    this.#cause = by;
    this.#stop.abort();
  }

  async steer(turn: UserTurn): Promise<boolean> {
    const isTaken = await this.#steering.offer(turn);
    if (isTaken) this.log.account.steered(turn.parts ?? []);
    return isTaken;
  }

  async run(): Promise<void> {
    this.log.emit({ type: "run_start", facts: this.#request.facts, startedAt: this.#startedAt });
    const deadline = new Deadline(this.#deps.clock, this.#request.timeoutMs, () => this.#expire());
    try {
      this.#end(await this.#work(deadline));
    } catch (error) {
      this.#end(this.#resultOf(error));
    } finally {
      deadline.stop();
      this.#ladder.close();
      this.#steering.close();
    }
  }

  /** A model that only lets the time pass is left for the next one; a tool that takes too long ends the run. */
  #expire(): void {
    if (this.#asking && !this.log.account.isToolRunning && this.#mayHandOn()) this.#asking.abort();
    else this.abort("timeout");
  }

  /** A flush of notes has a time of its own, and is not worth two. */
  #mayHandOn(): boolean {
    const { facts, candidates } = this.#request;
    return facts.trigger !== "memory" && this.#recovery.place.candidate + 1 < candidates.length;
  }

  #resultOf(thrown: unknown): RunResult {
    const { result, diskError } = resultOfThrown(thrown, this.#cause, this.#deps.log);
    this.diskError = diskError;
    return result;
  }

  async #work(deadline: Deadline): Promise<RunResult> {
    const { conversation, turn } = this.#request;
    const progress = await progressOf(conversation, turn.entryId, this.#request);
    if (progress.kind !== "fresh") repeat(progress.said, this.log);
    if (progress.kind === "underway") this.#recovery.carry(repeatPart(progress.carried, this.log));
    if (progress.kind === "finished")
      return { kind: "replied", stop: progress.last.stopReason === "length" ? "length" : "stop" };
    const unusable = await this.#prepare(progress);
    this.#showPrompt();
    if (unusable) return { kind: "failed", failure: unusable };
    return this.#attempts(this.#toolSetting(deadline), deadline);
  }

  /** What the user said stays in the conversation when the run is stopped here; after a shutdown it begins anew. */
  async #prepare(progress: Progress): Promise<Failure | undefined> {
    const { conversation } = this.#request;
    try {
      if (this.#stop.signal.aborted) throw new Stopped();
      await this.#heedHooks(progress.kind === "fresh");
      // Before the turn is written: an engine reads the conversation in as it was.
      const unusable = await this.memory.openEngine();
      await openTurn(conversation, this.#request.turn, progress);
      return unusable;
    } catch (error) {
      if (error instanceof Stopped && this.#cause !== "shutdown")
        await openTurn(conversation, this.#request.turn, progress);
      throw error;
    }
  }

  async #attempts(setting: ToolSetting, deadline: Deadline): Promise<RunResult> {
    for (let number = 1; ; number += 1) {
      const rung = await this.#ladder.at(this.#recovery.place);
      if (this.#stop.signal.aborted) return { kind: "aborted", by: this.#cause };
      if ("failure" in rung) return { kind: "failed", failure: this.#lastFailure ?? rung.failure };
      this.#recovery.use(rung.place);
      const asking = new AbortController();
      this.#asking = asking;
      const outcome = await this.#attempt(number, rung, setting).finally(() => (this.#asking = undefined));
      if (asking.signal.aborted && !this.#stop.signal.aborted) {
        const end = await this.#handOn(deadline);
        if (end) return end;
        continue;
      }
      this.#note(outcome);
      if (outcome.kind === "aborted") return { kind: "aborted", by: this.#cause };
      if (outcome.kind === "replied") return this.#replied(outcome);
      this.#lastFailure = outcome.failure;
      const end = await this.#recovery.from(outcome);
      if (end) return { kind: "failed", failure: this.#withContext(end) };
    }
  }

  /** The next model has the whole time again. */
  async #handOn(deadline: Deadline): Promise<RunResult | undefined> {
    const seconds = Math.round(this.#request.timeoutMs / 1000);
    const failure: Failure = { kind: "timeout", message: `No answer came within the ${seconds} seconds of a run.` };
    this.#note({ kind: "failed", failure });
    this.#lastFailure = failure;
    deadline.restart(this.#request.timeoutMs);
    const end = await this.#recovery.handOn(failure);
    return end && { kind: "aborted", by: "timeout" };
  }

  #attempt(number: number, rung: Extract<Selection, { handle: unknown }>, setting: ToolSetting) {
    const handle = this.#recovery.fitted(rung.handle);
    const { provider, id } = handle.info;
    this.#model = { provider, id };
    const plan: Attempt = { number, handle, ...this.#recovery.plan, signal: this.#signal };
    const parts: RunParts = {
      log: this.log,
      setting,
      steering: this.#steering,
      guard: this.#guard,
      engine: this.memory.engine,
      texts: this.#deps.texts,
      pruned: this.#deps.pruned,
      withImages: imagesFor(this.#request, this.#deps),
      now: () => this.#deps.clock.now(),
      compactBeforeAnswer: (handle) => this.memory.compactBeforeAnswer(handle),
      shown: async (what) => {
        this.memory.shown = what;
        await this.#watch.asks(this.#model, what.lastModel);
      },
      refused: this.#recovery.refused,
      progressed: () => this.#recovery.progressed(),
    };
    return attempt(plan, this.#request, parts);
  }

  /** A model call beside the conversation's own. */
  #spent(cost: SideCost): void {
    if (this.log.ended) this.#deps.behind?.(cost);
    else this.log.beside(cost);
  }

  get #signal(): AbortSignal {
    return this.#asking ? AbortSignal.any([this.#stop.signal, this.#asking.signal]) : this.#stop.signal;
  }

  #note(outcome: AttemptOutcome): void {
    const { account } = this.log;
    const now = this.#deps.clock.now();
    if (outcome.kind !== "failed") return account.ended({ outcome: outcome.kind }, now);
    const { kind, message } = outcome.failure;
    if (outcome.isRepeat) return account.ended({ outcome: kind, message: `not sent again: ${message}` }, now);
    account.ended({ outcome: kind, message }, now);
    if (outcome.sent) this.#recovery.refused.note(outcome.sent, outcome.failure);
    this.#ladder.failed(outcome.failure);
    this.#watch.failed(this.#model, kind);
  }

  /** A message that is too long by itself is another matter than a conversation that grew too long. */
  #withContext(failure: Failure): Failure {
    const isAlone = failure.kind === "context_overflow" && this.memory.shown?.before === 0;
    return isAlone ? { ...failure, isAlone } : failure;
  }

  #replied(outcome: Extract<AttemptOutcome, { kind: "replied" }>): RunResult {
    this.#ladder.succeeded();
    const change = this.#watch.change(this.#request.candidates);
    if (change) this.log.emit({ type: "model_change", ...change });
    return outcome;
  }

  /** Volatile prompts are not persisted: they are inserted into the window in memory, where they were asked. */
  #showPrompt(): void {
    const { conversation, turn } = this.#request;
    if (!isVolatile(turn)) return;
    this.#request = { ...this.#request, conversation: new WithPrompt(conversation, turn, userMessage(turn)) };
  }

  async #heedHooks(isFresh: boolean): Promise<void> {
    const added = await askHooks(this.#request, this.#deps);
    if (!added) return;
    if (isFresh) this.#request = addToTurn(this.#request, added);
    this.#request = addToSystem(this.#request, added);
  }

  #toolSetting(deadline: Deadline): ToolSetting {
    const { facts, settings, conversation } = this.#request;
    return {
      runId: facts.runId,
      sessionKey: facts.sessionKey,
      agentId: facts.agentId,
      workspace: settings.workspace,
      signal: this.#stop.signal,
      mostChars: settings.toolResultMaxChars,
      before: this.#deps.beforeTool,
      approvals: pausing(this.#deps.approvals, deadline),
      note: (customType, data) => conversation.append({ type: "custom", customType, data }, { durable: true }),
    };
  }

  #end(result: RunResult): void {
    const endedAt = this.#deps.clock.now();
    const receipt = this.#receipt(endedAt);
    const { engineDegraded: text } = receipt;
    if (text !== undefined) this.log.emit({ type: "notice", because: "engine", text });
    this.log.emit({ type: "run_end", result, receipt, endedAt });
    const { hooks } = this.#deps;
    if (hooks)
      tellEnd(this.#request, hooks, {
        result,
        durationMs: receipt.durationMs,
        messages: this.memory.shown?.messages() ?? [],
      });
  }

  #receipt(endedAt: number): Receipt {
    const { candidates, facts, openEngine } = this.#request;
    const { engine } = this.memory;
    return {
      model: this.#model,
      ...this.log.cost,
      durationMs: endedAt - this.#startedAt,
      trigger: facts.trigger,
      // An engine that was not to be had has no name here; the failure tells it.
      ...((engine || !openEngine) && { engine: engine?.id ?? "legacy" }),
      ...(engine?.degraded !== undefined && { engineDegraded: engine.degraded }),
      ...this.log.account.close(candidates, this.#ladder.skipped),
    };
  }
}
