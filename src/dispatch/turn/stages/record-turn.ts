import { finishRows } from "./earlier-end.ts";
import type { TurnPorts } from "../ports.ts";
import { recordRun } from "./record-run.ts";
import { endOf } from "../run-end.ts";
import type { StageEnd, Turn } from "../turn.ts";

/** Writes down what the run was, what it cost, and the outcome of its messages. A turn without an outcome continues later. */
export async function recordTurn(turn: Turn, ports: TurnPorts): Promise<StageEnd> {
  const { run } = turn.get("active");
  const isOver = await record(turn, ports);
  await run.settle();
  return isOver ? "next" : "over";
}

/** False when recovery will look at the turn again. */
async function record(turn: Turn, ports: TurnPorts): Promise<boolean> {
  const prepared = turn.get("prepared");
  const outcome = turn.get("outcome");
  const end = await endOf(turn.get("active").run);
  try {
    await recordRun(prepared, turn.get("session"), end, ports);
    if (outcome !== "unfinished") await finishRows(prepared.rows, outcome, ports);
    return outcome !== "unfinished";
  } catch (error) {
    // The answer is on its way. Without its outcome the turn is looked at again after the next start, and not run twice.
    ports.log.error("run not recorded", { run: prepared.facts.runId, error });
    return false;
  }
}
