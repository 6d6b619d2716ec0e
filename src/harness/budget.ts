import type { ModelInfo } from "../types/model.ts";
import type { AgentSettings, CompactionSettings } from "../types/settings.ts";

/** Figures of the field; tokens, and milliseconds. */
export const COMPACTION: CompactionSettings = {
  reserveTokens: 20_000,
  keepRecentTokens: 20_000,
  timeoutMs: 180_000,
};

/** Tokens that a tool's description takes, about. */
const TOOL_TOKENS = 200;

type Settings = Pick<AgentSettings, "contextTokens" | "compaction">;

/** Tokens of a model's window, as far as it may be used. */
export const windowOf = (info: ModelInfo, settings: Settings): number =>
  Math.min(info.contextWindow, settings.contextTokens ?? info.contextWindow);

/** Tokens that a conversation may fill with all around it; what is kept free is never more than a quarter of a small window. */
export function roomIn(window: number, settings: Settings): number {
  return window - Math.min((settings.compaction ?? COMPACTION).reserveTokens, window / 4);
}

/** Tokens, estimated, that stand around a conversation in every request. */
export const fixedTokens = (systemPrompt: string, tools: number): number =>
  Math.ceil(systemPrompt.length / 4) + tools * TOOL_TOKENS;
