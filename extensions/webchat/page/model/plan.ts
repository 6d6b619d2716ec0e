import { fields, list, nonEmpty, stringOr } from "./json.ts";
import type { Part, ToolPart } from "./transcript.ts";

export interface PlanStep {
  readonly step: string;
  readonly status: "pending" | "in_progress" | "completed";
}

/** Plan of the agent, in order. */
export interface Plan {
  readonly explanation: string;
  readonly steps: readonly PlanStep[];
}

const isPlan = (part: Part): part is ToolPart =>
  part.kind === "tool" && part.name === "update_plan" && part.state !== "failed";

/** The plan that a call shows; undefined for other calls, and for a call that failed. */
export function planOf(part: ToolPart): Plan | undefined {
  if (!isPlan(part)) return undefined;
  const args = fields(part.args);
  const listed = list(args["plan"]).flatMap((one) => stepOf(fields(one)));
  const steps = listed.length > 0 ? listed : stringOr(args["markdown"]).split("\n").flatMap(stepIn);
  return { explanation: stringOr(args["explanation"]).trim(), steps };
}

/** The parts of a turn without the plans that a later one replaces. */
export function withLastPlan(parts: readonly Part[]): readonly Part[] {
  const last = parts.findLast(isPlan);
  return last === undefined ? parts : parts.filter((part) => part === last || !isPlan(part));
}

function stepOf({ step, status }: Record<string, unknown>): readonly PlanStep[] {
  const named = nonEmpty(stringOr(step).trim());
  if (named === undefined) return [];
  return [{ step: named, status: status === "in_progress" || status === "completed" ? status : "pending" }];
}

/** `- [ ] step`, as the tool takes it too. */
function stepIn(line: string): readonly PlanStep[] {
  const [, mark = "", step] = /^\s*[-*+] \[([ xX~-])\]\s+(\S.*)$/.exec(line) ?? [];
  const status = { " ": "pending", x: "completed" }[mark.toLowerCase()] ?? "in_progress";
  return stepOf({ step, status });
}
