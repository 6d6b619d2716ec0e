import type { TurnPorts } from "../ports.ts";
import { setBy } from "../../directives/said.ts";
import { usageLevelOf, type UsageLevel } from "../../../types/run/usage-level.ts";
import { addressed } from "../../chats.ts";
import { speakAnswer } from "./speak-answer.ts";
import { recordRun } from "./record-run.ts";
import { endOf } from "../../answer/run-end.ts";
import type { StageEnd, Turn } from "../turn.ts";
import { modelName } from "../../../types/run/model.ts";
import type { Receipt } from "../../../types/run/run.ts";

/** Records the run, its cost, and the outcome of its messages. A turn without an outcome continues later. */
export async function recordTurn(turn: Turn, ports: TurnPorts): Promise<StageEnd> {
  const { run } = turn.get("active");
  await speakAnswer(turn, ports);
  await sayUsage(turn, ports);
  const isOver = await record(turn, ports);
  await run.settle();
  return isOver ? "next" : "over";
}

/** Planned before the outcome, so that a restart neither forgets it nor says it twice. An answer without it is whole, too. */
async function sayUsage(turn: Turn, ports: TurnPorts): Promise<void> {
  const { rows, kind } = turn.get("prepared");
  const [row] = rows;
  const outcome = turn.get("outcome");
  const isAnswered = outcome !== "unfinished" && outcome.kind === "replied";
  if (!row || !isAnswered || !kind.takesCommands || !addressed(row.message)) return;
  const { usage } = setBy(
    rows.map(({ message }) => message),
    turn.key,
    ports,
  );
  const level = usage ?? usageLevelOf(ports.sessions.peek(turn.key)?.responseUsage) ?? "off";
  const { receipt } = await endOf(turn.get("active").run);
  const text = usageLine(receipt, level);
  if (text === undefined || receipt.calls === 0) return;
  try {
    await ports.replies.notices.answer(row, { text, because: "usage" });
  } catch (error) {
    ports.log.warn("usage of an answer not sent", { inbox: row.id, error });
  }
}

/** False when the next start will examine the turn again. */
async function record(turn: Turn, ports: TurnPorts): Promise<boolean> {
  const prepared = turn.get("prepared");
  const outcome = turn.get("outcome");
  const end = await endOf(turn.get("active").run);
  try {
    await recordRun(prepared, turn.get("session"), { ...end, outcome, notAttached: turn.get("notAttached") }, ports);
    return outcome !== "unfinished";
  } catch (error) {
    // The answer is planned. Without an outcome the next start examines the turn again, but does not run it twice.
    ports.log.error("run not recorded", { run: prepared.facts.runId, error });
    return false;
  }
}

/** What a chat with this level is told about an answer's cost. Undefined when nothing. Pure. */
function usageLine({ usage, model, durationMs }: Receipt, level: UsageLevel): string | undefined {
  if (level === "off") return undefined;
  const { input, output, cacheRead, cacheWrite, cost } = usage;
  const count = (tokens: number) => tokens.toLocaleString("en");
  const tokens = `Usage: ${count(input + cacheRead + cacheWrite)} tokens in, ${count(output)} out`;
  if (level === "tokens") return tokens;
  const cached = cacheRead > 0 ? ` (${count(cacheRead)} of them cached)` : "";
  return `${tokens}${cached}, $${cost.total.toFixed(4)}, ${modelName(model)}, ${(durationMs / 1000).toFixed(1)} s`;
}
