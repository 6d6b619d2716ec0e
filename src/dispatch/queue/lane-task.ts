import type { AbortCause } from "../../harness/run.ts";
import type { RunLog } from "../../harness/log/run-log.ts";
import type { RunId } from "../../types/ids.ts";
import type { HistoryLine } from "../../types/chat/message.ts";
import type { InboxRow } from "../../types/journal.ts";
import { runIdOf } from "../turn-facts.ts";

/** Messages in a lane that are to become one turn. */
export interface QueuedTurn {
  readonly rows: readonly InboxRow[];
  readonly pending: readonly HistoryLine[];
  /** The text without its command. The message's own text when unset. */
  readonly text?: string;
  /** Set where the agent was idle when the messages came: they are one turn because their sender wrote on. */
  readonly wasIdle?: true;
  /** How many of the oldest messages are shortened to one line each, because more waited than the cap allows. */
  readonly brief?: number;
  /** The log of the run, opened early for clients that watch a run from the time at which it is queued. */
  readonly log?: RunLog;
  /** Whether the rows were claimed before, so that their turn may be half done. */
  readonly isReplay?: boolean;
}

/** The part of a run that its lane sees. The lane's task has begun the run. */
export interface LaneRun {
  readonly stream: {
    readonly facts: { readonly runId: RunId };
    /** The number of the run's newest event. */
    readonly seq: number;
    readonly done: Promise<unknown>;
    readonly ended: boolean;
    readonly activity: { readonly waitsFor: string; readonly tools: readonly string[] };
  };
  abort(by: AbortCause): void;
}

/** The lane, as seen by the turn that it runs. */
export interface TurnSlot<R extends LaneRun> {
  /** Aborted when the turn is to end, also while it is being prepared. */
  readonly stopping: AbortSignal;
  /** The cause for which the turn is to end. Unset until `stopping` is aborted. */
  readonly stoppedBy: AbortCause | undefined;
  /** Whether the lane went on without this turn, which made no progress. Then no further stage begins. */
  readonly isReleased: boolean;
  /** Called as each stage begins, with its name. */
  at(stage: string): void;
  /** Called once the model run has started. */
  begin(run: R): void;
}

/** A turn, or other work that needs exclusive use of the session. */
export type LaneTask =
  | TurnTask
  | {
      readonly kind: "work";
      readonly rows: readonly InboxRow[];
      readonly log?: RunLog;
      work(): Promise<void>;
      abort?(): void;
    };

export interface TurnTask {
  readonly kind: "turn";
  readonly queued: QueuedTurn;
  /** Whether the turn may become one with other turns that arrived while the session was busy. */
  readonly merge: boolean;
  /** Whether the turn joins the running turn as soon as that turn can take it. */
  readonly steers?: boolean;
  /** Milliseconds without a further message before the turn begins, when it waited for another turn. */
  readonly debounceMs?: number;
  /**
   * `first`: the turn leaves a queue that is over its cap before any turn of a person. `never`: the turn neither leaves
   * nor counts, and turns that come later are run before it.
   */
  readonly overCap?: "first" | "never";
}

/** The messages of a task. */
export const rowsOfTask = (task: LaneTask): readonly InboxRow[] =>
  task.kind === "turn" ? task.queued.rows : task.rows;

/** The id of the run of a task, begun or not. */
export function turnRunId(task: LaneTask): RunId | undefined {
  const row = task.kind === "turn" ? task.queued.rows[0] : undefined;
  return row && runIdOf(row);
}

/** The task for a retry. As after a restart, its turn may be half done; its log has ended with a failure. */
export function asRetry(task: LaneTask): LaneTask {
  if (task.kind === "work") return task;
  const { log: _ended, rows, ...queued } = task.queued;
  const tried = rows.map((row) => ({ ...row, attempts: Math.max(1, row.attempts) }));
  return { ...task, queued: { ...queued, rows: tried, isReplay: true } };
}
