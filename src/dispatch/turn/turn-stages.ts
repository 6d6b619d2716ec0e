import { adopt } from "./stages/adopt.ts";
import { answerTurn } from "./stages/answer-turn.ts";
import { claim } from "./stages/claim.ts";
import { maintain } from "./stages/maintain.ts";
import type { TurnPorts } from "./ports.ts";
import { prepare } from "./stages/prepare.ts";
import { reconcile } from "./stages/reconcile.ts";
import { recordTurn } from "./stages/record-turn.ts";
import { renew } from "./stages/renew.ts";
import { startTurnRun } from "./stages/start-run.ts";
import type { StageEnd, Turn } from "./turn.ts";

export interface TurnStage {
  readonly name: string;
  /** Rejects when something cannot be written; the lane tries the whole turn again when the disk was full. */
  run(turn: Turn, ports: TurnPorts): Promise<StageEnd>;
}

/**
 * The life of a turn, from its lane to its outcome: the table of contents. Each stage reads what earlier ones made of the
 * turn. Everything may end the process between two of them: each stage finds out what was done before.
 */
export const TURN_STAGES: readonly TurnStage[] = [
  // Refuses what has no agent, takes the messages for this process and the session for this turn.
  { name: "claim", run: claim },
  // Ends a turn that an earlier process has brought to its end but for the outcome, or has tried too often.
  { name: "adopt", run: adopt },
  // Begins a new conversation when the old one was left alone for too long.
  { name: "renew", run: renew },
  // Shows that the message is being worked on, fetches files, makes the user's text.
  { name: "prepare", run: prepare },
  // Settles what earlier turns left in the conversation: unanswered turns, sends that nobody noted.
  { name: "reconcile", run: reconcile },
  // Chooses the models and tools, and starts the run.
  { name: "run", run: startTurnRun },
  // Follows the run and brings its answer to the chat.
  { name: "answer", run: answerTurn },
  // Writes down what the run was, what it cost, and the outcome of its messages.
  { name: "record", run: recordTurn },
  // Ends the turn as its kind says, saves notes, compacts.
  { name: "maintain", run: maintain },
];

/** Brings queued messages to their outcome. */
export async function runTurn(turn: Turn, ports: TurnPorts): Promise<void> {
  try {
    for (const stage of TURN_STAGES) if ((await stage.run(turn, ports)) === "over") return;
  } finally {
    turn.close();
  }
}
