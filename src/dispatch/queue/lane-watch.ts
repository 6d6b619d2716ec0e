import type { Clock } from "../../types/clock.ts";
import type { RunId, SessionKey } from "../../types/ids.ts";
import type { Log } from "../../types/log.ts";
import type { StuckLimits } from "../../types/queue.ts";
import type { ActiveTask } from "./active-task.ts";
import type { LaneRun } from "./lane-task.ts";

/** A task that makes no progress. */
export interface StillTask {
  readonly session: SessionKey;
  readonly runId?: RunId;
  /** The present work of the task, in words for the operator. */
  readonly doing: string;
  /** Milliseconds since its last progress. */
  readonly forMs: number;
}

export interface LaneWatchPorts<R extends LaneRun> {
  readonly clock: Clock;
  readonly log: Log;
  limits(): StuckLimits;
  /** The tasks of all lanes. */
  tasks(): Iterable<readonly [SessionKey, ActiveTask<R>]>;
  /** Called when a task was aborted and has not ended in time. The lane then starts its next task. */
  release(key: SessionKey, task: ActiveTask<R>): void;
}

/** The most milliseconds between two looks, while a lane is busy. */
const LOOK_EVERY_MS = 15_000;
/** The number of looks within the shorter of the two limits. */
const LOOKS = 4;
/** Milliseconds within which an aborted task has to end. */
const END_WITHIN_MS = 30_000;

/** How a task looked when it last made progress. */
interface Seen {
  readonly at: number;
  readonly stage: string;
  readonly seq: number;
  readonly isOver: boolean;
  isReported: boolean;
  endedAt: number | undefined;
}

/**
 * Finds tasks that make no progress: no further stage, no further event of the run. Reports these tasks, and ends the
 * tasks that wait for nothing that has a limit of its own, so that the messages after them are answered.
 */
export class LaneWatch<R extends LaneRun> {
  readonly #ports: LaneWatchPorts<R>;
  #seen = new WeakMap<ActiveTask<R>, Seen>();
  #isArmed = false;
  #cancel: () => void = () => undefined;

  constructor(ports: LaneWatchPorts<R>) {
    this.#ports = ports;
  }

  /** Called when a lane becomes busy. */
  arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    const { warnMs, endMs } = this.#ports.limits();
    const everyMs = Math.min(LOOK_EVERY_MS, Math.ceil(Math.min(warnMs, endMs) / LOOKS));
    this.#cancel = this.#ports.clock.after(everyMs, () => this.#look());
  }

  close(): void {
    this.#isArmed = true;
    this.#cancel();
  }

  /** The tasks that have been reported. */
  still(): readonly StillTask[] {
    const { clock, tasks } = this.#ports;
    const found: StillTask[] = [];
    for (const [session, task] of tasks()) {
      const seen = this.#seen.get(task);
      if (seen?.isReported !== true) continue;
      const forMs = clock.now() - seen.at;
      found.push({ session, ...(task.runId !== undefined && { runId: task.runId }), doing: doing(task), forMs });
    }
    return found;
  }

  #look(): void {
    this.#isArmed = false;
    let isBusy = false;
    for (const [key, task] of this.#ports.tasks()) {
      isBusy = true;
      this.#judge(key, task);
    }
    if (isBusy) this.arm();
  }

  #judge(key: SessionKey, task: ActiveTask<R>): void {
    const now = this.#ports.clock.now();
    const seen = this.#seen.get(task);
    if (!seen || hasMoved(task, seen) || isExpected(task)) {
      this.#seen.set(task, { ...lookOf(task), at: now, isReported: false, endedAt: seen?.endedAt });
      return;
    }
    const facts = { session: key, run: task.runId, doing: doing(task), seconds: Math.round((now - seen.at) / 1000) };
    if (now - seen.at >= this.#ports.limits().warnMs && !seen.isReported) {
      seen.isReported = true;
      this.#ports.log.warn("session makes no progress", facts);
    }
    if (!hasOwnLimit(task) && !task.isReleased) this.#end(key, task, { seen, now, facts });
  }

  #end(
    key: SessionKey,
    task: ActiveTask<R>,
    { seen, now, facts }: { readonly seen: Seen; readonly now: number; readonly facts: Record<string, unknown> },
  ): void {
    if (task.isAborted) seen.endedAt ??= now;
    if (seen.endedAt !== undefined) {
      if (now - seen.endedAt < END_WITHIN_MS) return;
      this.#ports.log.error("stuck turn did not end: its session goes on without it", facts);
      this.#ports.release(key, task);
    } else if (now - seen.at >= this.#ports.limits().endMs) {
      seen.endedAt = now;
      this.#ports.log.error("stuck turn is ended", facts);
      task.abort("timeout");
    }
  }
}

const seqOf = ({ run }: ActiveTask<LaneRun>): number => run?.stream.seq ?? 0;

const lookOf = (task: ActiveTask<LaneRun>) => ({ stage: task.stage, seq: seqOf(task), isOver: task.isOver });

const hasMoved = (task: ActiveTask<LaneRun>, seen: Seen): boolean =>
  task.stage !== seen.stage || seqOf(task) !== seen.seq || task.isOver !== seen.isOver;

const waitOf = ({ run, isOver }: ActiveTask<LaneRun>) => (isOver ? "none" : (run?.stream.activity.waitsFor ?? "none"));

/**
 * Whether a task may stand still: a turn may wait for its slot, for the disk and for a person for as long as it takes.
 */
const isExpected = (task: ActiveTask<LaneRun>): boolean =>
  task.stage === "slot" || task.stage === "disk" || waitOf(task) === "person";

/**
 * Whether the present work of a task has a limit of its own: a model call, a tool and a summary have one, a command
 * such as `/compact` has the limits of its work, and the outbox reports a chat that takes nothing.
 */
const hasOwnLimit = (task: ActiveTask<LaneRun>): boolean =>
  waitOf(task) !== "none" || task.stage === "command" || (task.stage === "answer" && task.isOver);

function doing(task: ActiveTask<LaneRun>): string {
  const wait = waitOf(task);
  if (task.stage === "command") return "a command";
  if (wait === "tool") return `the tool ${task.run?.stream.activity.tools.join(", ") ?? ""}`;
  if (wait === "model") return "a model call";
  if (wait === "compaction") return "a summary of the conversation";
  if (task.stage === "answer") return task.isOver ? "sending the answer" : "the run";
  return `the stage ${task.stage}`;
}
