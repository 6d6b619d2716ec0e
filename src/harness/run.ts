import type { ModelHandle } from "../providers/catalog.ts";
import type { ModelRef, ThinkLevel } from "../types/model.ts";
import type { Failure, Receipt, RunResult } from "../types/run.ts";
import { THINK_LEVELS } from "../types/model.ts";
import type { ApprovalDesk } from "../types/tool.ts";
import { attempt, type Attempt, type AttemptOutcome, type Shown } from "./attempt.ts";
import { compact, type Compacted, type Compaction, logCompaction } from "./compact.ts";
import { Deadline } from "./deadline.ts";
import { RunLog } from "./log.ts";
import { FRESH, next, type PolicyState, without } from "./policy.ts";
import type { RunDeps, RunRequest, UserTurn } from "./request.ts";
import { openTurn, progressOf, repeat } from "./resume.ts";
import { Steering } from "./steering.ts";
import type { ToolSetting } from "./tools.ts";
import { isFull, sizesFor, writersFor } from "./upkeep.ts";

export type AbortCause = "user" | "timeout" | "shutdown";

/** A run under way. */
export interface Run {
  readonly stream: RunLog;
  /** Ends it within a second. */
  abort(by: AbortCause): void;
  /** Puts a turn before the next model call. False when the run ended first: the message waits for a run of its own. */
  steer(turn: UserTurn): Promise<boolean>;
  /**
   * After the run, before its session goes to the next: compacts a conversation that fills its window. An abort ends it.
   * Undefined when there was nothing to do. Rejects when the transcript cannot be written.
   */
  compactWhenFull(): Promise<Compacted | undefined>;
}

/** Starts a run of one agent over one user turn. Never throws; everything that happens is in the stream. */
export function startRun(request: RunRequest, deps: RunDeps, log = new RunLog(request.facts)): Run {
  const runner = new Runner(request, deps, log);
  void runner.run();
  return {
    stream: runner.log,
    abort: (by) => runner.abort(by),
    steer: (turn) => runner.steer(turn),
    compactWhenFull: () => runner.compactWhenFull(),
  };
}

class Runner {
  readonly log: RunLog;
  readonly #request: RunRequest;
  readonly #deps: RunDeps;
  readonly #stop = new AbortController();
  readonly #startedAt: number;
  readonly #steering = new Steering();
  #cause: AbortCause = "user";
  #state: PolicyState = FRESH;
  #thinking: ThinkLevel;
  #model: ModelRef;
  #shown: Shown | undefined;

  constructor(request: RunRequest, deps: RunDeps, log: RunLog) {
    this.#request = request;
    this.#deps = deps;
    this.#startedAt = deps.clock.now();
    this.#thinking = request.thinking;
    this.#model = request.candidates[0] ?? { provider: "none", id: "none" };
    this.log = log;
    log.facts = request.facts;
  }

  abort(by: AbortCause): void {
    if (this.#stop.signal.aborted) return;
    this.#cause = by;
    this.#stop.abort();
  }

  steer(turn: UserTurn): Promise<boolean> {
    return this.#steering.offer(turn);
  }

  async run(): Promise<void> {
    this.log.emit({ type: "run_start", facts: this.#request.facts, startedAt: this.#startedAt });
    const deadline = new Deadline(this.#deps.clock, this.#request.timeoutMs, () => this.abort("timeout"));
    try {
      this.#end(await this.#work(deadline));
    } catch (error) {
      this.#deps.log.error("run broke", { error });
      this.#end({ kind: "failed", failure: { kind: "unknown", message: messageOf(error) } });
    } finally {
      deadline.stop();
      this.#steering.close();
    }
  }

  async #work(deadline: Deadline): Promise<RunResult> {
    const { conversation, turn } = this.#request;
    const progress = await progressOf(conversation, turn.entryId);
    if (progress.kind !== "fresh") repeat(progress.said, this.log);
    if (progress.kind === "finished")
      return { kind: "replied", stop: progress.last.stopReason === "length" ? "length" : "stop" };
    await openTurn(conversation, turn, progress);
    const setting = this.#toolSetting(deadline);
    for (let number = 1; ; number += 1) {
      const outcome = await this.#attempt(number, setting);
      if (outcome.kind === "aborted") return { kind: "aborted", by: this.#cause };
      if (outcome.kind === "replied") return outcome;
      if (!(await this.#recover(outcome.failure))) return outcome;
    }
  }

  async #attempt(number: number, setting: ToolSetting): Promise<AttemptOutcome> {
    const ref = this.#request.candidates[this.#state.candidate];
    if (!ref) return { kind: "failed", failure: { kind: "model_missing", message: "No model is configured." } };
    this.#model = ref;
    const handle = await this.#deps.models.find(ref);
    if ("missing" in handle) return { kind: "failed", failure: { kind: "auth", message: handle.missing } };
    return attempt(this.#attemptWith(number, handle), this.#request, {
      log: this.log,
      setting,
      steering: this.#steering,
      shown: (what) => {
        this.#shown = what;
      },
    });
  }

  #attemptWith(number: number, handle: ModelHandle): Attempt {
    const { used } = this.#state;
    return {
      number,
      handle,
      thinking: this.#thinking,
      share: 0.5 ** (used.shrink_window ?? 0),
      images: used.drop_images === undefined,
      signal: this.#stop.signal,
    };
  }

  /** Obeys the policy's next step. False when it gives up. */
  async #recover(failure: Failure): Promise<boolean> {
    const step = next(this.#state, failure, this.#request.candidates.length);
    if (step.kind === "give_up") return false;
    if (step.remedy === "lower_thinking") {
      const lower = THINK_LEVELS[THINK_LEVELS.indexOf(this.#thinking) - 1];
      if (lower === undefined) return false;
      this.#thinking = lower;
    }
    this.log.emit({ type: "retry", because: failure.kind, remedy: step.remedy, message: failure.message });
    this.#state = step.state;
    if (step.remedy === "compact") return this.#compactOrElse(failure);
    await this.#pause(step.waitMs);
    return true;
  }

  /** A compaction that makes nothing smaller ends the series: the next remedy follows. */
  async #compactOrElse(failure: Failure): Promise<boolean> {
    const { kind } = await this.#compact("overflow", (event) => this.log.emit(event));
    if (kind !== "nothing") return true;
    this.#state = without(this.#state, "compact");
    return this.#recover(failure);
  }

  async compactWhenFull(): Promise<Compacted | undefined> {
    const shown = this.#shown;
    const { conversation, settings } = this.#request;
    if (!shown || this.#stop.signal.aborted) return undefined;
    if (!(await isFull(shown, { conversation, filled: this.log.filled }, settings))) return undefined;
    // The run's own log has ended.
    return this.#compact("full", (event) => logCompaction(event, this.#deps.log));
  }

  async #compact(why: "full" | "overflow", emit: Compaction["emit"]): Promise<Compacted> {
    const { conversation, turn, settings, candidates } = this.#request;
    if (!this.#shown) return { kind: "nothing", because: "small" };
    return compact({
      conversation,
      writers: await writersFor(candidates.slice(this.#state.candidate), settings, this.#deps.models),
      ...sizesFor(this.#shown.handle, settings),
      clock: this.#deps.clock,
      signal: this.#stop.signal,
      why,
      keepFrom: turn.entryId,
      emit,
    });
  }

  #pause(ms: number): Promise<void> {
    if (ms === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#deps.clock.after(ms, resolve);
      this.#stop.signal.addEventListener("abort", () => (cancel(), resolve()), { once: true });
    });
  }

  #toolSetting(deadline: Deadline): ToolSetting {
    const { facts, settings } = this.#request;
    return {
      runId: facts.runId,
      sessionKey: facts.sessionKey,
      agentId: facts.agentId,
      workspace: settings.workspace,
      signal: this.#stop.signal,
      approvals: pausing(this.#deps.approvals, deadline),
      touched: () => {
        this.#state = { ...this.#state, touched: true };
      },
    };
  }

  #end(result: RunResult): void {
    const endedAt = this.#deps.clock.now();
    this.log.emit({ type: "run_end", result, receipt: this.#receipt(endedAt), endedAt });
  }

  #receipt(endedAt: number): Receipt {
    return { model: this.#model, ...this.log.cost, durationMs: endedAt - this.#startedAt };
  }
}

/** A question to a person stands outside the run's time. */
function pausing(desk: ApprovalDesk, deadline: Deadline): ApprovalDesk {
  return {
    async ask(question, signal) {
      deadline.pause();
      try {
        return await desk.ask(question, signal);
      } finally {
        deadline.resume();
      }
    },
  };
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
