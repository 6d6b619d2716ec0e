import type { ApprovalDesk } from "../../types/run/tool.ts";
import type { RunDeps, RunRequest } from "../request.ts";

/**
 * Asks an owner whether the call that a budget refused may be made, and raises the budget so that it can. False when the owner says no,
 * when nobody answers or could, and when no raise would help.
 */
export async function askForBudget(
  { facts, settings }: Pick<RunRequest, "facts" | "settings">,
  { budgets, log }: Pick<RunDeps, "budgets" | "log">,
  approvals: ApprovalDesk,
  signal: AbortSignal,
): Promise<boolean> {
  const refused = budgets?.refusedIn(facts.runId);
  if (!budgets || refused?.raise === undefined) return false;
  const { text, raise } = refused;
  const question = {
    askedBy: "budget",
    command: `raise the budget by ${raise}`,
    reason: `${text} A yes raises it by ${raise}, and I go on.`,
    cwd: settings.workspace,
  } as const;
  if ((await approvals.ask(question, signal)) !== "allow-once") return false;
  try {
    await budgets.allow(facts.runId);
    return true;
  } catch (error) {
    log.error("budget not raised", { run: facts.runId, error });
    return false;
  }
}
