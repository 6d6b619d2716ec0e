import type { AbortCause } from "../../harness/run.ts";
import type { RunId } from "../../types/ids.ts";
import { background } from "../../utils/background.ts";
import { type LaneRun, type LaneTask, turnRunId, type TurnSlot } from "./lane-task.ts";

/** The task that a lane is running. A turn sees it as its slot. */
export class ActiveTask<R extends LaneRun> implements TurnSlot<R> {
  readonly task: LaneTask;
  /** The run, once it has begun. */
  run: R | undefined;
  /** Whether the run has ended, so that the work that follows is maintenance. */
  isOver = false;
  /**
   * The present step of the task: a name of `TURN_STAGES`, `slot` before the turn has a slot, `command`, or `disk`
   * while the task waits for the disk.
   */
  stage = "slot";
  #aborted: AbortCause | undefined;
  readonly #stop = new AbortController();
  readonly #released = Promise.withResolvers<void>();
  #isReleased = false;
  readonly #onBegin: () => void;

  /** `onBegin` is called when a model run has started. */
  constructor(task: LaneTask, onBegin: () => void) {
    this.task = task;
    this.#onBegin = onBegin;
  }

  /** Whether somebody has stopped the turn. */
  get isAborted(): boolean {
    return this.#aborted !== undefined;
  }

  get stoppedBy(): AbortCause | undefined {
    return this.#aborted;
  }

  get stopping(): AbortSignal {
    return this.#stop.signal;
  }

  get isReleased(): boolean {
    return this.#isReleased;
  }

  /** The id of the run of a turn, begun or not. */
  get runId(): RunId | undefined {
    return this.run?.stream.facts.runId ?? turnRunId(this.task);
  }

  at(stage: string): void {
    this.stage = stage;
  }

  /** Called when the model run has started. If the turn was stopped while it was prepared, the run ends at once. */
  begin(run: R): void {
    this.run = run;
    this.isOver = false;
    if (this.#aborted !== undefined) run.abort(this.#aborted);
    // Messages that arrive during post-turn maintenance do not count as a burst.
    const ended = run.stream.done.then(() => {
      if (this.run === run) this.isOver = true;
    });
    background("end of a run", ended);
    if (!this.#isReleased) this.#onBegin();
  }

  /** Ends the task. A turn may still be in preparation. */
  abort(by: AbortCause): void {
    if (this.task.kind === "work") return this.task.abort?.();
    this.#aborted ??= by;
    this.#stop.abort();
    this.run?.abort(by);
  }

  /** Lets the lane go on without the task. Later acts of the task do not concern the lane. */
  release(): void {
    this.abort("timeout");
    this.#isReleased = true;
    this.#released.resolve();
  }

  /**
   * Waits for the work of the task, or for its release. Rejects as the work does; an error after the release is
   * ignored.
   */
  async untilReleased(work: Promise<void>): Promise<void> {
    await Promise.race([work, this.#released.promise]);
  }
}
