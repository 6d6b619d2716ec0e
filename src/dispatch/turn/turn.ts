import type { Run } from "../../harness/run.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { Outcome } from "../../types/journal.ts";
import type { ModelRef } from "../../types/run/model.ts";
import type { RefusedAttachment } from "../../types/run/run.ts";
import type { Session } from "../../types/session.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { ToolSendBarrier } from "../answer/tool-send-barrier.ts";
import type { QueuedTurn, TurnSlot } from "../queue/lane-task.ts";
import type { Passage } from "../queue/start-gate.ts";
import type { TypingIndicator } from "../notices/typing.ts";
import type { PreparedTurn } from "../prepared-turn.ts";

/** How a stage ends. `over`: the turn has ended, or continues later; no further stage runs. */
export type StageEnd = "next" | "over";

/** The run of a turn, with its candidates and its stop signal. */
export interface ActiveRun {
  readonly run: Run;
  readonly candidates: readonly ModelRef[];
  readonly barrier: ToolSendBarrier;
  /** The time at which the session was last used before the run, in epoch milliseconds. */
  readonly usedAt: number;
}

/** The results of the stages, in the order in which these produce them. */
interface TurnParts {
  agent: AgentSettings;
  session: Session;
  /**
   * Resolves when the messages and the outcomes of all earlier turns are on the disk; rejects with the disk's error.
   */
  stored: Promise<void>;
  typing: TypingIndicator;
  prepared: PreparedTurn;
  active: ActiveRun;
  outcome: Outcome | "unfinished";
  notAttached: readonly RefusedAttachment[];
}

/** One turn on its way through `TURN_STAGES`. */
export class Turn {
  readonly key: SessionKey;
  readonly slot: TurnSlot<Run>;
  /** Lets other turns begin while this one waits for the disk or for its model. */
  readonly passage: Passage;
  /** The first message that the turn was queued with, even if it has ended since. */
  readonly head: QueuedTurn["rows"][number] | undefined;
  /** The messages of the turn. After the claim, only the messages that still need an answer. */
  queued: QueuedTurn;
  readonly #parts: Partial<TurnParts> = {};
  readonly #cleanups: (() => void)[] = [];

  constructor(key: SessionKey, queued: QueuedTurn, slot: TurnSlot<Run>, passage: Passage) {
    this.key = key;
    this.queued = queued;
    this.head = queued.rows[0];
    this.passage = passage;
    this.slot = slot;
  }

  /** The result of an earlier stage. Throws when there is none, because the stages are in the wrong order. */
  get<Name extends keyof TurnParts>(name: Name): TurnParts[Name] {
    const part = this.#parts[name];
    if (part === undefined) throw new Error(`no stage has set the turn's ${name} yet`);
    return part;
  }

  set(parts: Partial<TurnParts>): void {
    Object.assign(this.#parts, parts);
  }

  /**
   * Registers work for the time at which the turn leaves its lane, however it ends. The work that was registered last
   * is done first. The work must not throw.
   */
  atEnd(cleanup: () => void): void {
    this.#cleanups.push(cleanup);
  }

  close(): void {
    for (const cleanup of this.#cleanups.splice(0).toReversed()) cleanup();
  }
}
