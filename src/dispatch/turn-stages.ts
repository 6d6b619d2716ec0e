import { conclude } from "./stages/conclude.ts";
import { recordTurn } from "./stages/record-turn.ts";
import { answerTurn } from "./stages/answer-turn.ts";
import { claim } from "./stages/claim.ts";
import { maintain } from "./stages/maintain.ts";
import type { TurnPorts } from "./turn/ports.ts";
import { prepare } from "./stages/prepare.ts";
import { reconcile } from "./stages/reconcile.ts";
import { renew } from "./stages/renew.ts";
import { startTurnRun } from "./stages/start-run.ts";
import type { StageEnd, Turn } from "./turn/turn.ts";

export interface TurnStage {
  readonly name: string;
  /** Rejects when something cannot be written; the lane tries the whole turn again when the disk was full. */
  run(turn: Turn, ports: TurnPorts): Promise<StageEnd>;
}

/**
 * The life of a turn, from its lane to the work after its outcome. Each stage uses the results of earlier ones. The process can end
 * between any two stages, so each stage first finds out what was done before.
 */
export const TURN_STAGES: readonly TurnStage[] = [
  // Refuses messages without an agent; claims the rest for this process and acquires the session.
  { name: "claim", run: claim },
  // Ends a turn that an earlier process finished but for its outcome, or tried too often.
  { name: "conclude", run: conclude },
  // Begins a new conversation when the old one was idle for too long.
  { name: "renew", run: renew },
  // Shows that the message is being worked on, fetches files, makes the user's text.
  { name: "prepare", run: prepare },
  // Settles the remains of earlier turns in the conversation: unanswered turns, unrecorded sends.
  { name: "reconcile", run: reconcile },
  // Chooses the models and tools, and starts the run.
  { name: "run", run: startTurnRun },
  // Follows the run and brings its answer to the chat.
  { name: "answer", run: answerTurn },
  // Records the run, its cost, and the outcome of its messages.
  { name: "record", run: recordTurn },
  // Tells the other conversations, and the jobs that wait for the turn; then memory flush and compaction.
  { name: "maintain", run: maintain },
];
