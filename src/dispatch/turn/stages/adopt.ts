import { endAsBefore } from "./earlier-end.ts";
import type { TurnPorts } from "../ports.ts";
import type { StageEnd, Turn } from "../turn.ts";

/** Ends a turn that an earlier process finished but for its outcome, or tried too often. */
export async function adopt(turn: Turn, ports: TurnPorts): Promise<StageEnd> {
  return (await endAsBefore(turn, ports)) ? "over" : "next";
}
