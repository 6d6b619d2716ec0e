import type { Run } from "../../harness/run.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { QueuedTurn } from "../ports.ts";
import type { TurnSlot } from "../turn/turn.ts";
import type { LaneTask } from "./lane-task.ts";

/** Why a task is refused. */
export type RefusalCause = "full" | "stopped" | "broken";

/** What lanes do with their turns. */
export interface TurnHandler {
  /** The session that a turn belongs to now: the config may have changed while it waited. */
  routeOf(key: SessionKey, queued: QueuedTurn): SessionKey;
  /** Runs a turn to its outcome. Calls `slot.begin` once the model run has started. */
  run(key: SessionKey, queued: QueuedTurn, slot: TurnSlot): Promise<void>;
  /** Puts messages into the running turn. False when they must become their own turn. */
  steer(run: Run, key: SessionKey, queued: QueuedTurn): Promise<boolean>;
  /** Whether messages may be steered into the running turn. They would run with that turn's permissions. */
  maySteer(queued: QueuedTurn, running: readonly InboxRow[]): boolean;
  /** Whether messages may end the running turn. */
  mayInterrupt(queued: QueuedTurn, running: readonly InboxRow[]): boolean;
  /** Called when a task waits for the disk. Never rejects. */
  onDiskFull(task: LaneTask, error: unknown): Promise<void>;
  /** Ends the messages of a task that will not be run. */
  refuse(task: LaneTask, why: RefusalCause): Promise<void>;
}
