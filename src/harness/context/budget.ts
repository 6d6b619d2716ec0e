import type { ModelHandle } from "../../providers/catalog.ts";
import { estimateAll, estimatePromptTokens, estimateToolTokens } from "../../sessions/transcript/tokens.ts";
import { toolSchema } from "../../tools/schema.ts";
import type { ChatMessage, ModelInfo } from "../../types/run/model.ts";
import type { TokenBudget } from "../../types/run/run.ts";
import type { AgentSettings, CompactionSettings } from "../../types/settings.ts";
import type { Tool } from "../../types/run/tool.ts";

/** The default settings of compaction, usual in the field; in tokens, and milliseconds. */
export const COMPACTION: CompactionSettings = {
  reserveTokens: 20_000,
  keepRecentTokens: 20_000,
  timeoutMs: 180_000,
};

type Settings = Pick<AgentSettings, "contextTokens" | "compaction">;

/** Tokens of a model's window that the config allows. */
export const windowOf = (info: ModelInfo, settings: Settings): number =>
  Math.min(info.contextWindow, settings.contextTokens ?? info.contextWindow);

/** Tokens that a request is cut to: the tokens of the window, or fewer where the provider takes fewer. */
export const sendWindowOf = ({ info, limits }: ModelHandle, settings: Settings): number =>
  Math.min(windowOf(info, settings), limits.named ?? Infinity);

/** UTF-16 units of one tool result by the tokens of the window, from the largest window to the smallest. */
const RESULT_CHARS = [
  { window: 200_000, chars: 64_000 },
  { window: 100_000, chars: 32_000 },
  { window: 0, chars: 16_000 },
] as const;
/** The part of a window that one result may fill, and the characters of a token. */
const RESULT_SHARE = 0.3;
const TOKEN_CHARS = 4;

/**
 * UTF-16 units that a model gets of one tool result: as the config says, else by the model's window; never more than 30
 * % of the window.
 */
export function resultCharsOf(info: ModelInfo, settings: Settings & Pick<AgentSettings, "toolResultMaxChars">): number {
  const window = windowOf(info, settings);
  const byWindow = RESULT_CHARS.find((row) => window >= row.window)?.chars ?? 0;
  return Math.floor(Math.min(settings.toolResultMaxChars ?? byWindow, window * TOKEN_CHARS * RESULT_SHARE));
}

/** The model with a window that is no larger than this; unchanged when unset. */
export function withWindow(handle: ModelHandle, window: number | undefined): ModelHandle {
  if (window === undefined || window >= handle.info.contextWindow) return handle;
  return { ...handle, info: { ...handle.info, contextWindow: window } };
}

/** Tokens that a request may fill; the reserve is at most a quarter of a small window. */
export const budgetIn = (window: number, settings: Settings): number => window - reserveIn(window, settings);

/** The part of a window that a conversation may take at least. */
const LEAST_ROOM = 1 / 8;

/** Tokens that a conversation may take beside the fixed part of each request, before it is compacted. */
export const roomIn = (window: number, fixed: number, settings: Settings): number =>
  Math.max(budgetIn(window, settings) - fixed, window * LEAST_ROOM);

/**
 * The soft limit in tokens of a request that includes the new turn: the turn may use half of the reserve, so that one
 * long turn truncates nothing that no summary covers yet.
 */
export const softLimitOf = (window: number, settings: Settings): number => window - reserveIn(window, settings) / 2;

/** The most tokens of a request in a tool loop; the rest is for the answer. */
export const hardLimitOf = (window: number, settings: Settings): number => window - reserveIn(window, settings) / 4;

const reserveIn = (window: number, settings: Settings): number =>
  Math.min((settings.compaction ?? COMPACTION).reserveTokens, window / 4);

export interface BudgetParts {
  readonly systemPrompt: string;
  readonly tools: readonly Tool[];
  readonly event?: readonly ChatMessage[];
}

/** Splits a window of this many tokens. */
export function splitBudget(window: number, parts: BudgetParts, settings: Settings): TokenBudget {
  const reserveResponse = window - budgetIn(window, settings);
  const eachTool = parts.tools.map(oneTool);
  const reserveTools = sum(eachTool);
  const available = window - reserveResponse - reserveTools;
  const systemPrompt = estimatePromptTokens(parts.systemPrompt);
  const event = estimateAll(parts.event ?? []);
  const history = Math.max(0, available - systemPrompt - event);
  return { contextWindow: window, reserveResponse, reserveTools, eachTool, available, systemPrompt, event, history };
}

/** Estimated tokens of the system prompt and the tools, which every request has. */
export const fixedTokens = (systemPrompt: string, tools: readonly Tool[]): number =>
  estimatePromptTokens(systemPrompt) + sum(tools.map(oneTool));

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

/** Tokens of the text that a request has around a tool's name, description and schema. */
const TOOL_TOKENS = 20;

function oneTool(tool: Tool): number {
  return TOOL_TOKENS + estimateToolTokens(tool.name, tool.description, toolSchema(tool));
}
