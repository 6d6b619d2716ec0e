import { isDiskError } from "../../store/disk.ts";
import { DISK_PROBE_INTERVAL_MS } from "../../store/retry-while-disk-full.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { Log } from "../../types/log.ts";
import type { DispatchPorts, QueuedTurn } from "../ports.ts";
import type { ActiveTask } from "./active-task.ts";
import type { LaneTask } from "./lane-task.ts";
import type { RefusalCause, TurnHandler } from "./turn-handler.ts";
import { asRetry } from "./turn-task.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import type { TurnKind } from "../../types/run/turn-kind.ts";
import { Slots } from "../../utils/keyed-queue.ts";

interface RunnerPorts extends Pick<DispatchPorts, "clock" | "diskTakesWrites" | "kinds" | "settings"> {
  readonly log: Log;
}

/** What a runner asks the lanes. */
interface RunnerLanes {
  /** The gateway stops: no task begins any more. */
  isClosing(): boolean;
  /** Puts a turn into the lane of the session that the config names now. */
  move(key: SessionKey, queued: QueuedTurn): void;
}

/** Runs the tasks of all lanes to their ends: in a slot, and again after the disk was full. */
export class TaskRunner {
  readonly #ports: RunnerPorts;
  readonly #turns: Pick<TurnHandler, "onDiskFull" | "refuse" | "routeOf" | "run">;
  readonly #lanes: RunnerLanes;
  readonly #slots: RunSlots;

  constructor(
    ports: RunnerPorts,
    turns: Pick<TurnHandler, "onDiskFull" | "refuse" | "routeOf" | "run">,
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

  /** Never rejects, so that the lane is always free for the next task. */
  async run(key: SessionKey, active: ActiveTask): Promise<void> {
    try {
      await this.#untilOver(key, active);
    } catch (error) {
      this.#ports.log.error("lane task broke", { session: key, error });
    }
  }

  /** Ends the messages of a task that will not be run. Never rejects. */
  async refuse(key: SessionKey, task: LaneTask, why: RefusalCause): Promise<void> {
    if (task.kind === "work") task.abort?.();
    try {
      await this.#turns.refuse(task, why);
    } catch (error) {
      // The journal has it: the next start resumes it.
      this.#ports.log.error("message left without an outcome", { session: key, error });
    }
  }

  async #untilOver(key: SessionKey, active: ActiveTask): Promise<void> {
    for (let current = active.task; !this.#lanes.isClosing(); current = asRetry(current)) {
      try {
        return await this.#try(key, active, current);
      } catch (error) {
        if (!isDiskError(error)) {
          this.#ports.log.error("lane task broke", { session: key, error });
          return this.refuse(key, active.task, "broken");
        }
        active.at("disk");
        await this.#turns.onDiskFull(active.task, error);
        await this.#untilDiskTakesWrites(active);
      }
    }
  }

  /** A retry costs a model call, so a probe must be written first. Resolves early when the task is stopped. */
  async #untilDiskTakesWrites(active: ActiveTask): Promise<void> {
    const { clock } = this.#ports;
    do await new Promise<void>((resolve) => clock.after(DISK_PROBE_INTERVAL_MS, resolve));
    while (!this.#lanes.isClosing() && !active.isAborted && (await this.#ports.diskTakesWrites?.()) === false);
  }

  async #try(key: SessionKey, active: ActiveTask, task: LaneTask): Promise<void> {
    if (task.kind === "work") {
      active.at("command");
      return active.untilReleased(task.work());
    }
    const [row] = task.queued.rows;
    const slots = row ? this.#slots.of(this.#ports.kinds.of(row.message), row.message) : this.#slots.people;
    active.at("slot");
    await slots.use(() => active.untilReleased(this.#runTurn(key, active, task)));
  }

  /** While the turn waited for its slot, somebody may have stopped it, or the gateway. */
  async #runTurn(key: SessionKey, active: ActiveTask, task: LaneTask & { kind: "turn" }): Promise<void> {
    if (this.#lanes.isClosing()) return;
    if (active.isAborted) await this.refuse(key, task, "stopped");
    else await this.#runOrMove(key, active, task.queued);
  }

  /** A turn that waited while the config changed moves to the session that the config names now. Claimed messages stay. */
  async #runOrMove(key: SessionKey, active: ActiveTask, queued: QueuedTurn): Promise<void> {
    const now = queued.isReplay === true ? key : this.#turns.routeOf(key, queued);
    if (now === key) return this.#turns.run(key, queued, active);
    this.#ports.log.info("message moved to another session", { session: now, was: key });
    this.#lanes.move(now, queued);
  }
}

/** Runs of automations that are active at once. They are rarely urgent, and a hundred heartbeats may be due in one minute. */
const MOST_AUTOMATIONS = 4;

/** The most runs that are active at once. */
interface SlotLimits {
  /** Of turns that people wait for. */
  people(): number;
  /** Of subagents, at each depth. */
  subagents(): number;
}

/** The slots of runs: one group for people, one for automations and one for the subagents of each depth. No group delays another. */
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
