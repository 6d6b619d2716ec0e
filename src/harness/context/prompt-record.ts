import type { PiModel } from "../../providers/pi.ts";
import type { TranscriptPolicy } from "../../providers/quirks.ts";
import { estimateTextTokens } from "../../sessions/transcript/tokens.ts";
import type { EngineAnswer } from "../../types/engine/engine-turn.ts";
import type { Texts } from "../../types/journal.ts";
import type { ChatMessage, ModelInfo } from "../../types/run/model.ts";
import type { PromptPart, PromptRecord, TokenBudget } from "../../types/run/run.ts";
import type { SessionWindow } from "../../types/session.ts";
import { splitBudget, windowOf } from "./budget.ts";
import { keepMessages } from "./keep-messages.ts";
import type { RunRequest, SystemPrompt } from "../request.ts";
import { userMessage } from "../run/progress.ts";

/** The parts of a prompt. */
export interface Made {
  readonly system: SystemPrompt;
  readonly answer: EngineAnswer | undefined;
}

interface Shown extends Made {
  readonly request: RunRequest;
  readonly engine: string | undefined;
  readonly pi: PiModel;
  readonly info: ModelInfo;
  readonly policy: TranscriptPolicy;
  readonly window: SessionWindow;
  readonly opening: {
    readonly systemPrompt: string;
    readonly messages: readonly ChatMessage[];
    readonly estimatedTokens: number;
  };
}

/** The record of a prompt by which it can be shown again. `cuts` is filled in later. Rejects when the disk refuses. */
export async function promptRecord(shown: Shown, texts: Texts): Promise<PromptRecord> {
  const { request, pi, policy, opening, answer } = shown;
  const { settings, tools, turn } = request;
  return {
    system: await texts.put(opening.systemPrompt),
    systemParts: [...additionParts(shown), ...shown.system.parts],
    bodyParts: turn.parts ?? [],
    ...rangeOf(shown.window),
    api: pi.api,
    input: pi.input,
    images: policy.images,
    ...(policy.earlierImages === false && { earlierImages: false }),
    strict: policy.strict === true,
    ...(settings.dmHistoryLimit !== undefined && { earlierTurns: settings.dmHistoryLimit }),
    cuts: {},
    ...(answer && { engineMessages: await keepMessages(opening.messages, texts) }),
    tools: tools.map((tool) => tool.name),
    messages: opening.messages.length,
    estimatedTokens: opening.estimatedTokens,
    budget: budgetOf(shown),
  };
}

function budgetOf({ request, info, opening }: Shown): TokenBudget {
  const { settings, tools, turn } = request;
  const parts = { systemPrompt: opening.systemPrompt, tools, event: [userMessage(turn)] };
  return splitBudget(windowOf(info, settings), parts, settings);
}

function rangeOf({
  messages,
  summary,
}: SessionWindow): Pick<PromptRecord, "firstEntryId" | "lastEntryId" | "hasSummary"> {
  const first = messages[0]?.entryId;
  const last = messages.at(-1)?.entryId;
  return {
    ...(first !== undefined && { firstEntryId: first }),
    ...(last !== undefined && { lastEntryId: last }),
    hasSummary: summary !== undefined,
  };
}

/** The engine's text before the system prompt, with the empty line after it. */
function additionParts({ answer, engine }: Shown): readonly PromptPart[] {
  const text = answer?.systemAddition ?? "";
  if (text === "") return [];
  const source = engine ?? "";
  return [{ name: "context engine", source, tokens: estimateTextTokens(text), chars: text.length + 2 }];
}
