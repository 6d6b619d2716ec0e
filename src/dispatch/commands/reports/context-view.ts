import type { RunRecord } from "../../../types/journal.ts";
import { modelName } from "../../../types/run/model.ts";
import type { PromptPart, PromptRecord } from "../../../types/run/run.ts";

/** A part of the system prompt. */
export interface ViewedPart extends PromptPart {
  readonly kind: "file" | "skill" | "section";
}

/** The request that the model of a run was shown, by the sizes of its parts. Tokens are estimated. */
export interface ContextView {
  readonly runId: string;
  readonly at: number;
  readonly model: string;
  readonly engine?: string;
  readonly window?: WindowView;
  readonly system: readonly ViewedPart[];
  readonly tools: readonly { readonly name: string; readonly tokens?: number }[];
  readonly conversation: ConversationView;
  /** The parts that were written around the text of the last turn. */
  readonly turn: readonly PromptPart[];
}

export interface WindowView {
  readonly tokens: number;
  readonly used: number;
  readonly percent: number;
  readonly system: number;
  readonly tools: number;
  /** Tokens that are kept free for the answer. */
  readonly answer: number;
}

export interface ConversationView {
  readonly messages: number;
  readonly tokens: number;
  readonly hasSummary: boolean;
  /** Results of tools that were shortened or left out because they are old. */
  readonly pruned: { readonly trimmed: number; readonly cleared: number };
  /** The number of turns and steps that were left out because the window was too small. */
  readonly fit?: PromptRecord["fit"];
}

/** The view of a run. Undefined when no model was asked in the run, or an older version of the gateway ran it. Pure. */
export function contextViewOf({ runId, at, receipt }: RunRecord): ContextView | undefined {
  const { prompt, engine } = receipt;
  if (!prompt) return undefined;
  const { systemParts, bodyParts, tools, budget } = prompt;
  const model = receipt.tries?.at(-1)?.model ?? receipt.model;
  const window = windowView(prompt);
  return {
    runId,
    at,
    model: modelName(model),
    ...(engine !== undefined && { engine }),
    ...(window && { window }),
    system: systemParts.map((part) => ({ ...part, kind: kindOf(part) })),
    tools: tools.map((name, index) => {
      const tokens = budget?.eachTool?.[index];
      return { name, ...(tokens !== undefined && { tokens }) };
    }),
    conversation: conversationView(prompt),
    turn: bodyParts,
  };
}

function windowView({ budget, estimatedTokens }: PromptRecord): WindowView | undefined {
  if (!budget) return undefined;
  const { contextWindow: tokens, systemPrompt: system, reserveTools: tools, reserveResponse: answer } = budget;
  const used = system + tools + estimatedTokens;
  return { tokens, used, percent: Math.round((used / tokens) * 100), system, tools, answer };
}

function conversationView({
  messages,
  estimatedTokens: tokens,
  hasSummary,
  cuts,
  fit,
}: PromptRecord): ConversationView {
  const kinds = Object.values(cuts);
  const count = (wanted: "trimmed" | "cleared") => kinds.filter((kind) => kind === wanted).length;
  const pruned = { trimmed: count("trimmed"), cleared: count("cleared") };
  return { messages, tokens, hasSummary, pruned, ...(fit && { fit }) };
}

/**
 * The kind of a part by its name: a file of the workspace is named as its path ends, a skill as `skill <name>`; see
 * `prompt/`.
 */
function kindOf({ name, source }: PromptPart): ViewedPart["kind"] {
  if (name.startsWith("skill ")) return "skill";
  return name.endsWith(".md") && source.endsWith(name) ? "file" : "section";
}
