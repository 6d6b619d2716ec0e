import type { AbortCause } from "../../harness/run.ts";
import type { RunId } from "../../types/ids.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { QueueSettings } from "../../types/queue.ts";
import { overCap } from "./queue-modes.ts";
import { areChatsApart } from "../chats.ts";
import { ActiveTask } from "./active-task.ts";
import { type LaneRun, type LaneTask, type QueuedTurn, rowsOfTask, type TurnTask } from "./lane-task.ts";

/** The queue of one session: one task that runs, and the tasks that wait. */
export class Lane<R extends LaneRun> {
  /** The task that is running. */
  active: ActiveTask<R> | undefined;
  busy = false;
  /** Whether a message arrived during the turn, so that more of the same burst may follow. */
  isBurst = false;
  /** Whether no turn is running and the next one waits for more messages of its sender. */
  isGathering = false;
  /** Ends a wait for further messages before its time. */
  hurry: () => void = () => undefined;
  /** The time at which the last task came, in the clock's milliseconds. */
  pushedAt = 0;
  readonly #tasks: LaneTask[] = [];
  readonly #onBegin: () => void;

  /** `onBegin` is called when a model run has started. */
  constructor(onBegin: () => void = () => undefined) {
    this.#onBegin = onBegin;
  }

  /** The current run, once it has begun. */
  get run(): R | undefined {
    return this.active?.run;
  }

  get waiting(): number {
    return this.#tasks.length;
  }

  /** The messages that the current turn began with. */
  get running(): readonly InboxRow[] {
    return this.active ? rowsOfTask(this.active.task) : [];
  }

  /** The messages of the tasks that wait. */
  get waitingRows(): readonly InboxRow[] {
    return this.#tasks.flatMap(rowsOfTask);
  }

  /** Milliseconds for which the next task waits for more messages of its burst. */
  get debounceMs(): number {
    const [next] = this.#tasks;
    return next?.kind === "turn" ? (next.debounceMs ?? 0) : 0;
  }

  push(task: LaneTask, now = 0): void {
    let at = this.#tasks.length;
    if (!yields(task)) while (yields(this.#tasks[at - 1])) at -= 1;
    this.#tasks.splice(at, 0, task);
    this.pushedAt = now;
    if (this.active?.isOver !== true) this.isBurst = true;
  }

  /** True while the lane gathers messages of the people who wrote these too. */
  gathers(rows: readonly InboxRow[]): boolean {
    if (!this.isGathering) return false;
    const senders = new Set(this.waitingRows.map(({ message }) => message.sender.id));
    return rows.every(({ message }) => senders.has(message.sender.id));
  }

  /**
   * Puts back a turn that could not join another one: before later messages, but never before a turn that a command put
   * first.
   */
  pushInOrder(task: TurnTask): void {
    const id = firstIdOf(task);
    let at = this.#tasks.length;
    for (let before = this.#tasks[at - 1]; before && isLater(before, id); before = this.#tasks[at - 1]) at -= 1;
    this.#tasks.splice(at, 0, task);
    if (this.active?.isOver !== true) this.isBurst = true;
  }

  /** Removes and returns the turns that may join the running one, in their order. Each has one message. */
  takeSteering(may: (queued: QueuedTurn) => boolean): readonly TurnTask[] {
    const taken = this.#turns.filter(({ steers, queued }) => steers === true && may(queued));
    this.#takeOut(taken);
    return taken.flatMap(unfold);
  }

  /** Puts a task before all waiting tasks: the new conversation begins with this task. */
  pushFirst(task: LaneTask): void {
    this.#tasks.unshift(task);
  }

  /** Removes and returns the tasks that wait and that are to end. */
  clear(ends: (task: LaneTask) => boolean): readonly LaneTask[] {
    return this.#takeOut(this.#tasks.filter(ends));
  }

  enter(task: LaneTask): ActiveTask<R> {
    this.active = new ActiveTask(task, this.#onBegin);
    this.isBurst = this.#tasks.length > 0;
    return this.active;
  }

  leave(): void {
    this.active = undefined;
  }

  /** Ends the current task. A turn may still be in preparation. */
  abort(by: AbortCause): void {
    this.active?.abort(by);
  }

  /** Whether a message is in the current task or in a waiting task. Undefined when the message is in neither. */
  stateOf(inboxId: number): "running" | "waiting" | undefined {
    if (this.active && hasRow(this.active.task, inboxId)) return "running";
    return this.#tasks.some((task) => hasRow(task, inboxId)) ? "waiting" : undefined;
  }

  /** True when this message is the only one in its task. */
  isAlone(inboxId: number): boolean {
    const tasks = this.active ? [this.active.task, ...this.#tasks] : this.#tasks;
    const own = tasks.find((task) => hasRow(task, inboxId));
    return own !== undefined && rowsOfTask(own).length === 1;
  }

  /** Removes and returns the waiting task of a message, if that message is the only one in it. */
  takeOut(inboxId: number): LaneTask | undefined {
    const own = this.#tasks.find((task) => hasRow(task, inboxId));
    return own && rowsOfTask(own).length === 1 ? this.#takeOut([own])[0] : undefined;
  }

  /** The id of the run of the current turn, begun or not. */
  get runId(): RunId | undefined {
    return this.active?.runId;
  }

  /** Removes and returns the next task. Neighbouring turns that may be merged come as one. */
  take(): LaneTask | undefined {
    const first = this.#tasks.shift();
    if (first?.kind !== "turn" || !first.merge) return first;
    const rows = [...first.queued.rows];
    const pending = [...first.queued.pending];
    const { wasIdle: _ofFirst, ...queued } = first.queued;
    let wasIdle = first.queued.wasIdle;
    for (let next = this.#tasks[0]; next?.kind === "turn" && next.merge; next = this.#tasks[0]) {
      if (areChatsApart(next.queued.rows, rows)) break;
      this.#tasks.shift();
      rows.push(...next.queued.rows);
      pending.push(...next.queued.pending);
      wasIdle &&= next.queued.wasIdle;
    }
    return { ...first, queued: { ...queued, rows, pending, ...(wasIdle && { wasIdle }) } };
  }

  /**
   * Enforces the cap. Returns the turns that leave, which the caller refuses. With `summarize` the oldest turns become
   * one turn with a line for each of their messages. Turns that no person wrote leave first.
   */
  shed(queue: Pick<QueueSettings, "cap" | "drop">): readonly LaneTask[] {
    const first = this.#takeOut(this.#counted.filter(leavesFirst).slice(0, overCap(this.#counted.length, queue.cap)));
    if (queue.drop === "summarize") return [...first, ...this.#fold(queue.cap)];
    const said = this.#counted.filter((task) => !leavesFirst(task));
    const over = overCap(said.length, queue.cap);
    return [...first, ...this.#takeOut(queue.drop === "old" ? said.slice(0, over) : said.slice(said.length - over))];
  }

  get #turns(): readonly TurnTask[] {
    return this.#tasks.filter((task) => task.kind === "turn");
  }

  /** The turns that the cap limits. */
  get #counted(): readonly TurnTask[] {
    return this.#turns.filter((task) => task.overCap !== "never");
  }

  /**
   * Makes one turn of two until the cap holds. Returns the turns to be refused: when no two turns can become one, the
   * newest is refused, so that its sender is informed at once.
   */
  #fold(cap: number): readonly LaneTask[] {
    const refused: LaneTask[] = [];
    while (overCap(this.#counted.length, cap) > 0) {
      const pair = foldablePair(this.#counted);
      if (pair) {
        this.#tasks.splice(this.#tasks.indexOf(pair[0]), 1, fold(...pair));
        this.#tasks.splice(this.#tasks.indexOf(pair[1]), 1);
      } else {
        const newest = this.#counted.findLast((task) => task.queued.isReplay !== true);
        if (!newest) break;
        refused.push(...this.#takeOut([newest]));
      }
    }
    return refused;
  }

  #takeOut(gone: readonly LaneTask[]): readonly LaneTask[] {
    const kept = this.#tasks.filter((task) => !gone.includes(task));
    this.#tasks.splice(0, this.#tasks.length, ...kept);
    return gone;
  }
}

/** The two oldest turns that one answer can serve. A turn that a client watches is never folded. */
function foldablePair(turns: readonly TurnTask[]): readonly [TurnTask, TurnTask] | undefined {
  const free = turns.filter(({ queued }) => queued.log === undefined && queued.isReplay !== true);
  for (const [at, one] of free.entries()) {
    const other = free.slice(at + 1).find((next) => !areChatsApart(next.queued.rows, one.queued.rows));
    if (other) return [one, other];
  }
  return undefined;
}

function fold(one: TurnTask, other: TurnTask): TurnTask {
  const { text: _text, wasIdle: _wasIdle, ...first } = one.queued;
  const rows = [...one.queued.rows, ...other.queued.rows];
  const pending = [...one.queued.pending, ...other.queued.pending];
  const merge = one.merge && other.merge;
  const steers = one.steers === true && other.steers === true;
  // Turns that may merge become one turn anyway, which shortens the messages over the cap. Of other turns, the newest
  // message stays whole.
  const queued = { ...first, rows, pending, ...(!merge && { brief: rows.length - 1 }) };
  return { kind: "turn", merge, ...(steers && { steers }), queued };
}

/**
 * A turn for each message of a task. The cap limits waiting turns, but messages that can join the running turn do so
 * one by one, before messages that came after them.
 */
function unfold(task: TurnTask): readonly TurnTask[] {
  const { rows, pending } = task.queued;
  if (rows.length === 1) return [task];
  return rows.map((row, at) => ({ ...task, queued: { rows: [row], pending: at === 0 ? pending : [] } }));
}

const firstIdOf = ({ queued }: TurnTask): number => queued.rows[0]?.id ?? 0;

const isLater = (task: LaneTask, id: number): boolean =>
  task.kind === "turn" && task.queued.text === undefined && firstIdOf(task) > id;

/**
 * Whether later turns are put before a task. A turn that is half done comes first, whoever wrote it: no other turn may
 * begin in the middle of it.
 */
const yields = (task: LaneTask | undefined): boolean =>
  task?.kind === "turn" && task.overCap === "never" && task.queued.isReplay !== true;

const leavesFirst = (task: TurnTask): boolean => task.overCap === "first";

const hasRow = (task: LaneTask, inboxId: number): boolean => rowsOfTask(task).some((row) => row.id === inboxId);
