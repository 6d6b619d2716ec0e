import type { QueueMode } from "../../types/queue.ts";

interface LaneState {
  /** A run or a command of this session is active. */
  readonly busy: boolean;
  readonly waiting: number;
}

/** What a mode does with a message that finds its session busy. */
export interface QueueModeRule {
  /** `steer`: it joins the running turn, or waits when it cannot. */
  readonly whenBusy: "wait" | "steer" | "interrupt";
  /** While it waits, it may become one turn with others. */
  readonly merges: boolean;
  /** Of the command's help: what the mode does with a message. */
  readonly help: string;
}

/** The modes. What happens to messages over the cap is the same in all of them: see `Lane.shed`. */
export const QUEUE_MODE_RULES: Readonly<Record<QueueMode, QueueModeRule>> = {
  collect: { whenBusy: "wait", merges: true, help: "waits, and joins other waiting messages in one turn" },
  followup: { whenBusy: "wait", merges: false, help: "waits for a turn of its own" },
  steer: { whenBusy: "steer", merges: true, help: "joins the running turn; waits when it came too late" },
  "steer-backlog": { whenBusy: "steer", merges: true, help: "joins the running turn; waits when it came too late" },
  interrupt: { whenBusy: "interrupt", merges: true, help: "ends the running turn" },
};

/** `start`: it begins a turn now. */
export type QueueAction = "start" | QueueModeRule["whenBusy"];

/** What a message does when it finds its lane in this state. Messages that wait keep none from being steered. Pure. */
export const queueAction = ({ busy, waiting }: LaneState, mode: QueueMode): QueueAction =>
  !busy && waiting === 0 ? "start" : QUEUE_MODE_RULES[mode].whenBusy;

/** How many of the oldest waiting messages are over the cap. */
export const overCap = (queued: number, cap: number): number => Math.max(0, queued - cap);
