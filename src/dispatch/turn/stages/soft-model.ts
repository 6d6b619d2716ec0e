import { isSameModel, type ModelRef } from "../../../types/run/model.ts";
import { originOf } from "../../../types/run/model-meter.ts";
import type { Session } from "../../../types/session.ts";
import type { DispatchPorts } from "../../ports.ts";
import { addressed } from "../addressed.ts";
import { mayUse } from "../may-use.ts";
import type { TurnPorts } from "../ports.ts";
import type { PreparedTurn } from "../prepared-turn.ts";

type Ports = Pick<DispatchPorts, "budgets" | "log"> & Pick<TurnPorts, "replies">;

/**
 * The candidates with the smaller model first, when most of a budget is used. A key that the user pinned keeps its model, and a model
 * that `agents.*.models` does not allow is not taken. The chat is told once a day.
 */
export async function withSoftModel(
  candidates: readonly ModelRef[],
  prepared: PreparedTurn,
  session: Pick<Session, "entry" | "key">,
  ports: Ports,
): Promise<readonly ModelRef[]> {
  const { agent, facts } = prepared;
  if (!ports.budgets || session.entry.authProfileOverrideSource === "user") return candidates;
  const soft = await ports.budgets.softFor(originOf(facts)).catch((error: unknown) => {
    ports.log.error("budgets not read", { run: facts.runId, error });
    return undefined;
  });
  const [first] = candidates;
  if (!soft || !mayUse(agent, soft.model) || (first && isSameModel(first, soft.model))) return candidates;
  await tell(soft, prepared, session, ports);
  return [soft.model, ...candidates.filter((ref) => !isSameModel(ref, soft.model))];
}

/** An answer that the chat is not told about is an answer all the same. */
async function tell(
  { text, day }: { readonly text: string; readonly day: string },
  { rows, facts }: PreparedTurn,
  { key }: Pick<Session, "key">,
  { replies, log }: Ports,
): Promise<void> {
  const [row] = rows;
  if (!row || !addressed(row.message)) return;
  try {
    await replies.notices.answer(row, { text, because: "fallback", key: `budget-soft:${day}:${key}` });
  } catch (error) {
    log.warn("the smaller model was not announced", { run: facts.runId, error });
  }
}
