import type { TurnPorts } from "../ports.ts";
import { recordRun } from "./record-run.ts";
import { endOf } from "../run-end.ts";
import type { StageEnd, Turn } from "../turn.ts";

/** Records the run, its cost, and the outcome of its messages. A turn without an outcome continues later. */
export async function recordTurn(turn: Turn, ports: TurnPorts): Promise<StageEnd> {
  const { run } = turn.get("active");
  const isOver = await record(turn, ports);
  await run.settle();
  return isOver ? "next" : "over";
}

/** False when the next start will examine the turn again. */
async function record(turn: Turn, ports: TurnPorts): Promise<boolean> {
  const prepared = turn.get("prepared");
  const outcome = turn.get("outcome");
  const end = await endOf(turn.get("active").run);
  try {
    await recordRun(prepared, turn.get("session"), { ...end, outcome }, ports);
    return outcome !== "unfinished";
  } catch (error) {
    // The answer is planned. Without an outcome the next start examines the turn again, but does not run it twice.
    ports.log.error("run not recorded", { run: prepared.facts.runId, error });
    return false;
  }
}
