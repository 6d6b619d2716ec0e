import type { QueueMode } from "../../types/queue.ts";

interface LaneState {
  /** Whether a run or a command of this session is active. */
  readonly busy: boolean;
  readonly waiting: number;
}

/** The rule of a mode for a message that finds its session busy. */
export interface QueueModeRule {
  /** `steer`: the message joins the running turn, or waits when it cannot join. */
  readonly whenBusy: "wait" | "steer" | "interrupt";
  /** Whether the waiting message may become one turn with others. */
  readonly merges: boolean;
  /** The effect of the mode on a message, in words for the command's help. */
  readonly help: string;
}

/** The rules of the modes. Messages over the cap are treated alike in all modes: see `Lane.shed`. */
export const QUEUE_MODE_RULES: Readonly<Record<QueueMode, QueueModeRule>> = {
  collect: { whenBusy: "wait", merges: true, help: "waits, and joins other waiting messages in one turn" },
  followup: { whenBusy: "wait", merges: false, help: "waits for a turn of its own" },
  steer: { whenBusy: "steer", merges: true, help: "joins the running turn; waits when it came too late" },
  "steer-backlog": { whenBusy: "steer", merges: true, help: "joins the running turn; waits when it came too late" },
  interrupt: { whenBusy: "interrupt", merges: true, help: "ends the running turn" },
};

/** `start`: the message begins a turn now. */
export type QueueAction = "start" | QueueModeRule["whenBusy"];

/**
 * The action of a message that finds its lane in this state. Waiting messages keep no message from being steered. Pure.
 */
export const queueAction = ({ busy, waiting }: LaneState, mode: QueueMode): QueueAction =>
  !busy && waiting === 0 ? "start" : QUEUE_MODE_RULES[mode].whenBusy;

/** How many of the oldest waiting messages are over the cap. */
export const overCap = (queued: number, cap: number): number => Math.max(0, queued - cap);
