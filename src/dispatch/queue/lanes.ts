import type { RunId, SessionKey } from "../../types/ids.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { Log } from "../../types/log.ts";
import type { QueueMode } from "../../types/queue.ts";
import type { ActiveTask } from "./active-task.ts";
import { Lane } from "./lane.ts";
import { type LaneRun, type LaneTask, type QueuedTurn, rowsOfTask, turnRunId, type TurnTask } from "./lane-task.ts";
import { LaneWatch, type StillTask } from "./lane-watch.ts";
import type { DiskPorts, DispatchPorts } from "../ports.ts";
import { QUEUE_MODE_RULES, type QueueAction, queueAction } from "./queue-modes.ts";
import { areChatsApart } from "../chats.ts";
import { TaskRunner, type TurnHandler, type Waiting } from "./task-runner.ts";
import { Feed } from "../../utils/feed.ts";

export interface LanePorts extends Pick<DispatchPorts, "clock" | "kinds" | "settings"> {
  readonly disk: Pick<DiskPorts, "diskTakesWrites">;
  readonly log: Log;
}

/** The part of a session's work that is ended. */
export interface StopHow {
  /** The only run that is ended; all runs when unset. */
  readonly only?: RunId;
  /** A message whose sender may end no turn that an owner asked for. */
  readonly by?: InboxRow;
}

/**
 * Milliseconds for which the end of the gateway waits for aborted runs. A run ends within a second after an abort; the
 * next start continues a run that takes longer.
 */
const ABORT_MS = 2000;

/** The most pauses, of one debounce each, by which messages without end can delay their turn. */
const MOST_PAUSES = 10;

/** The lanes of all sessions. */
export class Lanes<R extends LaneRun> {
  readonly #lanes = new Map<SessionKey, Lane<R>>();
  readonly #underway = new Set<Promise<void>>();
  /** Rows that are being steered into a running turn; they are in no lane. */
  readonly #steering = new Set<number>();
  readonly #ports: LanePorts;
  readonly #turns: TurnHandler<R>;
  readonly #runner: TaskRunner<R>;
  readonly #watch: LaneWatch<R>;
  /** Reports each session whose waiting messages change. */
  readonly waitingFeed = new WaitingFeed((key) => this.waitingIn(key));
  #closing = false;

  constructor(ports: LanePorts, turns: TurnHandler<R>) {
    this.#ports = ports;
    this.#turns = turns;
    this.#runner = new TaskRunner(ports, turns, {
      isClosing: () => this.#closing,
      move: (key, queued) => void this.offer(key, queued),
    });
    this.#watch = new LaneWatch({
      clock: ports.clock,
      log: ports.log,
      limits: () => ports.settings().stuck,
      tasks: () => this.#active(),
      release: (key, active) => this.#release(key, active),
    });
  }

  /** The tasks that have made no progress for a long time. */
  still(): readonly StillTask[] {
    return this.#watch.still();
  }

  *#active(): Iterable<readonly [SessionKey, ActiveTask<R>]> {
    for (const [key, lane] of this.#lanes) if (lane.active) yield [key, lane.active];
  }

  /** Ends the messages of a turn that does not end, unless only maintenance is left of it. */
  #release(key: SessionKey, active: ActiveTask<R>): void {
    const isAnswered = active.stage === "maintain";
    active.release();
    if (!isAnswered) this.#keep(this.#runner.refuse(key, active.task, "broken"));
  }

  /**
   * Takes a message, which starts a turn or does to a busy lane what the queue mode says. True when the message has to
   * wait.
   */
  offer(key: SessionKey, queued: QueuedTurn): boolean {
    const lane = this.#lane(key);
    const waiting = this.#turns.waitingOf(key, queued);
    const { queue } = waiting;
    const action = this.#actionOf(lane, queued, queue.mode);
    if (action === "interrupt") lane.abort("user");
    lane.push(taskOf(queued, waiting, action), this.#ports.clock.now());
    this.#steerWaiting(key, lane);
    for (const task of lane.shed(queue)) this.#keep(this.#runner.refuse(key, task, "full"));
    this.waitingFeed.check(key);
    return !this.#wake(key, lane, waiting.gatherMs);
  }

  /**
   * Puts the messages that wait for the running turn into it, in their order. Other waiting messages keep none of them
   * from joining.
   */
  #steerWaiting(key: SessionKey, lane: Lane<R>): void {
    const { run } = lane;
    if (!run) return;
    for (const task of lane.takeSteering((queued) => this.#maySteer(queued, lane)))
      this.#keep(this.#steer(key, run, task));
    this.waitingFeed.check(key);
  }

  /** Puts a turn that a command made before everything that waits. */
  enterFirst(key: SessionKey, queued: QueuedTurn): void {
    const lane = this.#lane(key);
    lane.pushFirst({ kind: "turn", queued, merge: false });
    lane.hurry();
    this.waitingFeed.check(key);
    this.#wake(key, lane);
  }

  /**
   * Queues work that needs exclusive use of the session. With `reset`, the work ends the running turn and comes first.
   */
  occupy(key: SessionKey, task: LaneTask & { kind: "work" }, how: "lane" | "reset"): void {
    const lane = this.#lane(key);
    if (how === "reset") {
      lane.abort("user");
      lane.pushFirst(task);
      lane.hurry();
    } else lane.push(task, this.#ports.clock.now());
    this.waitingFeed.check(key);
    this.#wake(key, lane);
  }

  /** Ends the running turn and empties the lane, as far as `only` and `by` allow. Returns the runs that ended. */
  async stop(key: SessionKey, { only, by }: StopHow = {}): Promise<readonly RunId[]> {
    const lane = this.#lanes.get(key);
    if (!lane) return [];
    const may = (rows: readonly InboxRow[]) => !by || this.#turns.mayInterrupt({ rows: [by], pending: [] }, rows);
    const isRun = only === undefined || lane.runId === only;
    const endsActive = isRun && may(lane.running);
    const ended = endsActive && lane.runId !== undefined ? [lane.runId] : [];
    if (endsActive) lane.abort("user");
    const dropped = lane.clear((task) => (only === undefined || turnRunId(task) === only) && may(rowsOfTask(task)));
    this.waitingFeed.check(key);
    for (const task of dropped) await this.#runner.refuse(key, task, "stopped");
    return [...ended, ...dropped.flatMap((task) => turnRunId(task) ?? [])];
  }

  /** Whether a message is running or waiting. While it is being steered it counts as running. */
  stateOf(inboxId: number): "running" | "waiting" | undefined {
    return this.#steering.has(inboxId) ? "running" : this.#laneOf(inboxId)?.lane.stateOf(inboxId);
  }

  /** Whether the run of a message has ended, so that its outcome is decided and only has to be recorded. */
  isDecided(inboxId: number): boolean {
    const lane = this.#laneOf(inboxId)?.lane;
    return lane?.stateOf(inboxId) === "running" && lane.run?.stream.ended === true;
  }

  /**
   * Ends the work on a message that has its outcome or is about to get it. A running turn that holds other messages too
   * continues. A waiting turn leaves the message out when it begins.
   */
  async drop(inboxId: number): Promise<"stopped" | "waiting" | "continues" | "idle"> {
    const standing = this.stateOf(inboxId);
    const found = this.#laneOf(inboxId);
    if (standing === undefined) return "idle";
    if (!found || (standing === "running" && !found.lane.isAlone(inboxId))) return "continues";
    const { key, lane } = found;
    if (standing === "running") {
      lane.abort("user");
      return "stopped";
    }
    const task = lane.takeOut(inboxId);
    this.waitingFeed.check(key);
    if (task) await this.#runner.refuse(key, task, "stopped");
    return "waiting";
  }

  #laneOf(inboxId: number): { readonly key: SessionKey; readonly lane: Lane<R> } | undefined {
    for (const [key, lane] of this.#lanes) if (lane.stateOf(inboxId)) return { key, lane };
    return undefined;
  }

  /** The messages that wait in a session, in the order in which their turns begin. */
  waitingIn(key: SessionKey): readonly InboxRow[] {
    return this.#lanes.get(key)?.waitingRows ?? [];
  }

  isBusy(key: SessionKey): boolean {
    return this.#lanes.get(key)?.busy === true;
  }

  /** The runs of all sessions. */
  runs(): readonly R[] {
    return [...this.#lanes.values()].flatMap((lane) => lane.run ?? []);
  }

  get waiting(): number {
    return [...this.#lanes.values()].reduce((sum, lane) => sum + lane.waiting, 0);
  }

  /** The lanes of sessions: how many there are, how many have work, and what waits in them. */
  load(): { laneCount: number; activeCount: number; queuedCount: number; queuedLaneCount: number } {
    const lanes = [...this.#lanes.values()];
    const queued = lanes.filter((lane) => lane.waiting > 0).length;
    const active = lanes.filter((lane) => lane.active !== undefined).length;
    return { laneCount: lanes.length, activeCount: active, queuedCount: this.waiting, queuedLaneCount: queued };
  }

  /** Does work that belongs to no session, in one of the slots of all runs. */
  inSlot(work: () => Promise<void>): Promise<void> {
    return this.#runner.inSlot(work);
  }

  /**
   * Begins no further task. A run that is still active after `ms` milliseconds is aborted, and the next start continues
   * it.
   */
  async close(ms: number): Promise<void> {
    this.#closing = true;
    this.#watch.close();
    const { clock } = this.#ports;
    const late = Promise.withResolvers<void>();
    const cancelAbort = clock.after(ms, () => {
      for (const lane of this.#lanes.values()) lane.abort("shutdown");
    });
    const cancelWait = clock.after(ms + ABORT_MS, late.resolve);
    await Promise.race([Promise.all(this.#underway), late.promise]);
    cancelAbort();
    cancelWait();
  }

  #actionOf(lane: Lane<R>, queued: QueuedTurn, mode: QueueMode): QueueAction {
    if (lane.gathers(queued.rows)) return "start";
    const action = queueAction(lane, mode);
    return action === "interrupt" && !this.#turns.mayInterrupt(queued, lane.running) ? "wait" : action;
  }

  /**
   * Whether messages may join the running turn. An operator's client reads the answer in the transcript, so its message
   * may join the turn of any chat.
   */
  #maySteer(queued: QueuedTurn, { running }: Lane<R>): boolean {
    const ofChats = queued.rows.filter(({ message }) => message.options?.operator !== true);
    return !areChatsApart(ofChats, running) && this.#turns.maySteer(queued, running);
  }

  #lane(key: SessionKey): Lane<R> {
    const known = this.#lanes.get(key);
    if (known) return known;
    const lane: Lane<R> = new Lane(() => this.#steerWaiting(key, lane));
    this.#lanes.set(key, lane);
    return lane;
  }

  /** Starts the lane if it is idle. True when this call started it. */
  #wake(key: SessionKey, lane: Lane<R>, debounceMs = 0): boolean {
    if (lane.busy || this.#closing) return false;
    lane.busy = true;
    this.#watch.arm();
    this.#keep(this.#drain(key, lane, debounceMs));
    return true;
  }

  /** Registers work that `close` waits for. */
  #keep(work: Promise<void>): void {
    const kept = work.finally(() => this.#underway.delete(kept));
    this.#underway.add(kept);
  }

  async #drain(key: SessionKey, lane: Lane<R>, debounceMs: number): Promise<void> {
    lane.isGathering = debounceMs > 0;
    await this.#pause(lane, debounceMs);
    lane.isGathering = false;
    for (let task = lane.take(); task && !this.#closing; task = lane.take()) {
      this.waitingFeed.check(key);
      await this.#runner.run(key, lane.enter(task));
      lane.leave();
      await this.#settle(lane);
    }
    lane.busy = false;
    if (lane.waiting === 0) this.#lanes.delete(key);
  }

  /** People write in bursts: messages that arrived during a run wait a moment for the next ones. */
  async #settle(lane: Lane<R>): Promise<void> {
    if (lane.waiting === 0 || !lane.isBurst || this.#closing) return;
    for (let pauses = 0; pauses < MOST_PAUSES && !this.#closing; pauses += 1) {
      const left = lane.pushedAt + lane.debounceMs - this.#ports.clock.now();
      if (left <= 0) return;
      if (await this.#pause(lane, Math.min(left, lane.debounceMs))) return;
    }
  }

  /** Waits for further messages. True when a command that comes first has ended the wait. */
  async #pause(lane: Lane<R>, ms: number): Promise<boolean> {
    if (ms <= 0) return false;
    const isHurried = await new Promise<boolean>((resolve) => {
      const cancel = this.#ports.clock.after(ms, () => resolve(false));
      lane.hurry = () => {
        cancel();
        resolve(true);
      };
    });
    lane.hurry = () => undefined;
    return isHurried;
  }

  async #steer(key: SessionKey, run: R, task: TurnTask): Promise<void> {
    const { queued } = task;
    const ids = queued.rows.map((row) => row.id);
    for (const id of ids) this.#steering.add(id);
    try {
      if (await this.#turns.steer(run, key, queued)) return;
    } catch (error) {
      this.#ports.log.warn("message not steered", { session: key, error });
    } finally {
      for (const id of ids) this.#steering.delete(id);
    }
    const lane = this.#lane(key);
    lane.pushInOrder({ ...task, steers: false });
    this.waitingFeed.check(key);
    this.#wake(key, lane);
  }
}

/** The task of messages with which `action` is to be done, by the state of their lane. */
function taskOf(queued: QueuedTurn, { queue, overCap }: Waiting, action: QueueAction): TurnTask {
  const merges = action === "start" || QUEUE_MODE_RULES[queue.mode].merges;
  return {
    kind: "turn",
    queued: action === "start" && isOneNew(queued) ? { ...queued, wasIdle: true } : queued,
    merge: merges && queued.log === undefined && queued.isReplay !== true,
    steers: action === "steer",
    debounceMs: queue.debounceMs,
    ...(overCap && { overCap }),
  };
}

/**
 * Whether a turn has one message, and a new one. Whether the messages of a turn that an earlier process began had to
 * wait is not known.
 */
const isOneNew = ({ rows, isReplay }: QueuedTurn): boolean => rows.length === 1 && isReplay !== true;

/** Informs watchers of sessions whose waiting messages are others than before. */
class WaitingFeed {
  readonly #feed = new Feed<SessionKey>();
  /** The ids of the messages that waited at the last report; sessions without one are left out. */
  readonly #reported = new Map<SessionKey, string>();
  readonly #due = new Set<SessionKey>();
  readonly #rowsOf: (key: SessionKey) => readonly InboxRow[];

  /** `rowsOf` gives the messages that wait in a session now. */
  constructor(rowsOf: (key: SessionKey) => readonly InboxRow[]) {
    this.#rowsOf = rowsOf;
  }

  /** Compares the waiting messages of a session, soon: a message that begins at once is not reported as waiting. */
  check(key: SessionKey): void {
    if (this.#due.size === 0) setImmediate(() => this.#compare());
    this.#due.add(key);
  }

  watch(signal: AbortSignal): AsyncIterable<SessionKey> {
    return this.#feed.watch(signal);
  }

  #compare(): void {
    const due = [...this.#due];
    this.#due.clear();
    for (const key of due) {
      const now = this.#rowsOf(key)
        .map(({ id }) => id)
        .join(" ");
      if (now === (this.#reported.get(key) ?? "")) continue;
      if (now === "") this.#reported.delete(key);
      else this.#reported.set(key, now);
      this.#feed.publish(key);
    }
  }
}
