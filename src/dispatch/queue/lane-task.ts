import type { RunLog } from "../../harness/log/log.ts";
import type { RunId } from "../../types/ids.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { QueuedTurn } from "../ports.ts";
import { runIdOf } from "../turn/ids.ts";

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
  /** It may become one turn with others that arrived while the session was busy. */
  readonly merge: boolean;
  /** Joins the running turn as soon as that can take it. */
  readonly steers?: boolean;
  /** Milliseconds without a further message before it begins, when it waited for a turn. */
  readonly debounceMs?: number;
  /**
   * `first`: it leaves a queue that is over its cap before any turn of a person. `never`: it neither leaves nor counts, and turns that come
   * later are run before it.
   */
  readonly overCap?: "first" | "never";
}

/** The messages of a task. */
export const rowsOf = (task: LaneTask): readonly InboxRow[] => (task.kind === "turn" ? task.queued.rows : task.rows);

/** The id of the run of a task, begun or not. */
export function turnRunId(task: LaneTask): RunId | undefined {
  const row = task.kind === "turn" ? task.queued.rows[0] : undefined;
  return row && runIdOf(row);
}
