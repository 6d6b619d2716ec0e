import type { RemovedTool } from "../../types/tool-policy.ts";
import type { PolicyStage, PolicyVerdict, StageAnswer } from "../../types/tool-policy.ts";
import { entryFor, listedNames, normalName, type PolicyTool } from "./names.ts";

function answerOf(stage: PolicyStage, names: readonly string[]): Pick<StageAnswer, "answer" | "entry"> {
  const denied = stage.deny && entryFor(names, stage.deny);
  if (denied !== undefined) return { answer: "denied", entry: denied };
  if (stage.isEmpty === true) return { answer: "unlisted" };
  if (!stage.allow || stage.allow.length === 0) return { answer: "allowed" };
  const allowed = entryFor(names, stage.allow);
  return allowed === undefined ? { answer: "unlisted" } : { answer: "allowed", entry: allowed };
}

const concerns = ({ ofNamedFor }: PolicyStage, { namedFor }: PolicyTool): boolean =>
  ofNamedFor === undefined || ofNamedFor === namedFor;

/** Whether a tool passes every stage. Pure. */
export function isToolAllowed(tool: PolicyTool, stages: readonly PolicyStage[]): boolean {
  const names = listedNames(tool);
  return stages.every((stage) => !concerns(stage, tool) || answerOf(stage, names).answer === "allowed");
}

/** The answer of every stage, so that a person sees which stage takes the tool away. Pure. */
export function explainTool(tool: PolicyTool, stages: readonly PolicyStage[]): PolicyVerdict {
  const names = listedNames(tool);
  const trace = stages
    .filter((stage) => concerns(stage, tool))
    .map((stage): StageAnswer => ({ stage: stage.stage, key: stage.key, ...answerOf(stage, names) }));
  return { isAllowed: trace.every(({ answer }) => answer === "allowed"), trace };
}

/**
 * The first stage that takes away the tool of this name; undefined when the tool passes all stages, or does not exist.
 * Pure.
 */
export function removedBy(
  name: string,
  tools: ReadonlyMap<string, PolicyTool>,
  stages: readonly PolicyStage[],
): RemovedTool | undefined {
  const tool = tools.get(name) ?? tools.get(normalName(name));
  const found = tool && explainTool(tool, stages).trace.find(({ answer }) => answer !== "allowed");
  return found && { tool: tool.name, stage: found.stage, key: keyOfAnswer(found) };
}

/** Whether a key is one of the config file. Rules of the gateway itself are sentences and have no place in the file. */
export const isKey = (key: string): boolean => !key.includes(" ");

const KEYS_OF_THEIR_OWN = new Set<StageAnswer["stage"]>(["optional", "guest", "owner only"]);

/** Keys that decide without a list. */
const WITHOUT_LIST = /\.(?:profile|updatePlan|planTool)$/;

/** The key of the list that answered. Pure. */
export function keyOfAnswer({ stage, key, answer, entry }: StageAnswer): string {
  if (!isKey(key) || WITHOUT_LIST.test(key) || KEYS_OF_THEIR_OWN.has(stage)) return key;
  if (answer === "denied") return `${key}.deny`;
  return answer === "unlisted" || entry !== undefined ? `${key}.allow` : key;
}

/**
 * The stage with an allow list that leaves none of these tools, although there are some; undefined when tools are left,
 * or when the config has no allow list of a person.
 */
export function emptiedBy(tools: readonly PolicyTool[], stages: readonly PolicyStage[]): PolicyStage | undefined {
  if (tools.length === 0 || tools.some((tool) => isToolAllowed(tool, stages))) return undefined;
  return stages.find(({ stage, allow }) => allow !== undefined && EXPLICIT.has(stage));
}

/** Stages whose allow list a person wrote as the list of all wanted tools. */
const EXPLICIT = new Set<PolicyStage["stage"]>([
  "global",
  "global by provider",
  "agent",
  "agent by provider",
  "chat",
  "sender",
]);
