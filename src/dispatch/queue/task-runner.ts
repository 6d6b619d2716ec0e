import { isDiskError } from "../../store/disk.ts";
import { DISK_PROBE_INTERVAL_MS } from "../../store/retry-while-disk-full.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { Log } from "../../types/log.ts";
import type { QueueSettings } from "../../types/queue.ts";
import type { TurnKind } from "../../types/run/turn-kind.ts";
import { Slots } from "../../utils/keyed-queue.ts";
import type { DiskPorts, DispatchPorts } from "../ports.ts";
import type { ActiveTask } from "./active-task.ts";
import { asRetry, type LaneRun, type LaneTask, type QueuedTurn, type TurnSlot, type TurnTask } from "./lane-task.ts";

/** Why a task is refused. */
export type TaskRefusalCause = "full" | "stopped" | "broken";

/** How messages wait, by the config and by the kind of their turn. */
export interface Waiting {
  readonly queue: QueueSettings;
  readonly overCap: TurnTask["overCap"] | undefined;
  /** Milliseconds in which messages of an idle chat become one turn. */
  readonly gatherMs: number;
}

/** The acts of lanes on their turns. */
export interface TurnHandler<R extends LaneRun> {
  waitingOf(key: SessionKey, queued: QueuedTurn): Waiting;
  /** The session that a turn belongs to now: the config may have changed while it waited. */
  routeOf(key: SessionKey, queued: QueuedTurn): SessionKey;
  /** Runs a turn to its outcome. Calls `slot.begin` once the model run has started. */
  run(key: SessionKey, queued: QueuedTurn, slot: TurnSlot<R>): Promise<void>;
  /** Puts messages into the running turn. False when they must become their own turn. */
  steer(run: R, key: SessionKey, queued: QueuedTurn): Promise<boolean>;
  /** Whether messages may be steered into the running turn. They would run with that turn's permissions. */
  maySteer(queued: QueuedTurn, running: readonly InboxRow[]): boolean;
  /** Whether messages may end the running turn. */
  mayInterrupt(queued: QueuedTurn, running: readonly InboxRow[]): boolean;
  /** Called when a task waits for the disk. Never rejects. */
  onDiskFull(task: LaneTask, error: unknown): Promise<void>;
  /** Ends the messages of a task that will not be run. */
  refuse(task: LaneTask, why: TaskRefusalCause): Promise<void>;
}

interface RunnerPorts extends Pick<DispatchPorts, "clock" | "kinds" | "settings"> {
  readonly disk: Pick<DiskPorts, "diskTakesWrites">;
  readonly log: Log;
}

/** The calls of a runner to the lanes. */
interface RunnerLanes {
  /** Whether the gateway stops, so that no task begins any more. */
  isClosing(): boolean;
  /** Puts a turn into the lane of the session that the config names now. */
  move(key: SessionKey, queued: QueuedTurn): void;
}

/** Runs the tasks of all lanes to their ends: in a slot, and again after the disk was full. */
export class TaskRunner<R extends LaneRun> {
  readonly #ports: RunnerPorts;
  readonly #turns: Pick<TurnHandler<R>, "onDiskFull" | "refuse" | "routeOf" | "run">;
  readonly #lanes: RunnerLanes;
  readonly #slots: RunSlots;

  constructor(
    ports: RunnerPorts,
    turns: Pick<TurnHandler<R>, "onDiskFull" | "refuse" | "routeOf" | "run">,
    lanes: RunnerLanes,
  ) {
    this.#ports = ports;
    this.#turns = turns;
    this.#lanes = lanes;
    this.#slots = new RunSlots({
      people: () => ports.settings().maxConcurrent,
      subagents: () => ports.settings().maxConcurrentSubagents,
    });
  }

  /** Does work that belongs to no session, in one of the slots of people's runs. */
  inSlot(work: () => Promise<void>): Promise<void> {
    return this.#slots.people.use(work);
  }

  /**
   * Runs a task to its end, again after the disk was full. Never rejects: the lane is always free for the next task.
   */
  async run(key: SessionKey, active: ActiveTask<R>): Promise<void> {
    let { task } = active;
    while (!this.#lanes.isClosing()) {
      try {
        return await this.#once(key, active, task);
      } catch (error) {
        if (!isDiskError(error)) {
          this.#ports.log.error("lane task broke", { session: key, error });
          return this.refuse(key, active.task, "broken");
        }
        if (!(await this.#untilDiskTakesWrites(active, error))) return;
        task = asRetry(task);
      }
    }
  }

  /** Ends the messages of a task that will not be run. Never rejects. */
  async refuse(key: SessionKey, task: LaneTask, why: TaskRefusalCause): Promise<void> {
    if (task.kind === "work") task.abort?.();
    try {
      await this.#turns.refuse(task, why);
    } catch (error) {
      // The journal has the messages: the next start resumes them.
      this.#ports.log.error("message left without an outcome", { session: key, error });
    }
  }

  /** Work runs at once; a turn waits for one of its slots. */
  async #once(key: SessionKey, active: ActiveTask<R>, task: LaneTask): Promise<void> {
    if (task.kind === "work") {
      active.at("command");
      return active.untilReleased(task.work());
    }
    active.at("slot");
    const { queued } = task;
    const run = async () => {
      // While the turn waited for its slot, somebody may have stopped it or the gateway, or the config may have
      // changed.
      if (this.#lanes.isClosing()) return;
      if (active.isAborted) return this.refuse(key, task, "stopped");
      // Claimed messages stay in their session.
      const now = queued.isReplay === true ? key : this.#turns.routeOf(key, queued);
      if (now === key) return this.#turns.run(key, queued, active);
      this.#ports.log.info("message moved to another session", { session: now, was: key });
      this.#lanes.move(now, queued);
    };
    await this.#slotsOf(queued).use(() => active.untilReleased(run()));
  }

  #slotsOf({ rows: [row] }: QueuedTurn): Pick<Slots, "use"> {
    return row ? this.#slots.of(this.#ports.kinds.of(row.message), row.message) : this.#slots.people;
  }

  /**
   * Waits until the disk takes writes. A retry costs a model call, so a probe must be written first. Resolves early
   * when the task is stopped. False when the wait itself failed: the journal has the messages, and the next start
   * resumes them. Never rejects.
   */
  async #untilDiskTakesWrites(active: ActiveTask<R>, why: unknown): Promise<boolean> {
    const { clock, log } = this.#ports;
    active.at("disk");
    try {
      await this.#turns.onDiskFull(active.task, why);
      do await new Promise<void>((resolve) => clock.after(DISK_PROBE_INTERVAL_MS, resolve));
      while (!this.#lanes.isClosing() && !active.isAborted && !(await this.#ports.disk.diskTakesWrites()));
      return true;
    } catch (error) {
      log.error("lane task broke", { error });
      return false;
    }
  }
}

/**
 * The most runs of automations that are active at once. These runs are rarely urgent, and a hundred heartbeats may be
 * due in one minute.
 */
const MOST_AUTOMATIONS = 4;

/** The most runs that are active at once. */
interface SlotLimits {
  /** The most runs of turns that people wait for. */
  people(): number;
  /** The most runs of subagents, at each depth. */
  subagents(): number;
}

/**
 * The slots of runs: one group for people, one for automations and one for the subagents of each depth. No group delays
 * another.
 */
class RunSlots {
  readonly #people: Slots;
  readonly #automations = new Slots(() => MOST_AUTOMATIONS);
  readonly #subagents = new Map<number, Slots>();
  readonly #limits: SlotLimits;

  constructor(limits: SlotLimits) {
    this.#people = new Slots(() => limits.people());
    this.#limits = limits;
  }

  get people(): Pick<Slots, "use"> {
    return this.#people;
  }

  /** The slots of a turn. */
  of(kind: TurnKind, message: Pick<InboundMessage, "options">): Pick<Slots, "use"> {
    const depth = kind.depth?.(message) ?? 0;
    if (depth === 0) return kind.slots === "automation" ? this.#automations : this.#people;
    const slots = this.#subagents.get(depth) ?? new Slots(() => this.#limits.subagents());
    this.#subagents.set(depth, slots);
    return slots;
  }
}
