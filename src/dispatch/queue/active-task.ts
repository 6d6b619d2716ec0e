import type { AbortCause } from "../../harness/run.ts";
import type { RunId } from "../../types/ids.ts";
import { background } from "../../utils/background.ts";
import { type LaneRun, type LaneTask, turnRunId, type TurnSlot } from "./lane-task.ts";

/** The task that a lane is running. A turn sees it as its slot. */
export class ActiveTask<R extends LaneRun> implements TurnSlot<R> {
  readonly task: LaneTask;
  /** The run, once it has begun. */
  run: R | undefined;
  /** The run has ended; what follows is maintenance. */
  isOver = false;
  /**
   * What is being done: a name of `TURN_STAGES`, `slot` before the turn has one, `command`, or `disk` while it waits for the disk.
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

  /** Somebody has stopped it. */
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

  /** The run of a turn, begun or not. */
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

  /** Ends it. A turn may still be being prepared. */
  abort(by: AbortCause): void {
    if (this.task.kind === "work") return this.task.abort?.();
    this.#aborted ??= by;
    this.#stop.abort();
    this.run?.abort(by);
  }

  /** Lets the lane go on without it. What it does later, it does not do in the lane's name. */
  release(): void {
    this.abort("timeout");
    this.#isReleased = true;
    this.#released.resolve();
  }

  /** Waits for its work, or for its release. Rejects as the work does; a later error is ignored. */
  async untilReleased(work: Promise<void>): Promise<void> {
    await Promise.race([work, this.#released.promise]);
  }
}
