import type { QueueMode } from "../ports.ts";

export interface LaneState {
  /** A run or a command of this session is active. */
  readonly busy: boolean;
  readonly waiting: number;
}

export type QueueAction =
  | { readonly kind: "start" }
  | { readonly kind: "wait"; readonly merge: boolean }
  /** Joins the running turn, or waits when it cannot. */
  | { readonly kind: "steer" }
  | { readonly kind: "interrupt" };

/** What a message does when it finds its lane in this state. Pure. */
export function queueAction(state: LaneState, mode: QueueMode): QueueAction {
  if (!state.busy && state.waiting === 0) return { kind: "start" };
  switch (mode) {
    case "collect":
      return { kind: "wait", merge: true };
    case "followup":
      return { kind: "wait", merge: false };
    case "steer":
    case "steer-backlog":
      return state.waiting > 0 ? { kind: "wait", merge: true } : { kind: "steer" };
    case "interrupt":
      return { kind: "interrupt" };
  }
}

/** How many of the oldest waiting messages are over the cap. */
export const overCap = (queued: number, cap: number): number => Math.max(0, queued - cap);
