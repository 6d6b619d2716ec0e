import type { ModelHandle, Models } from "../../providers/catalog.ts";
import { estimateTokens } from "../../sessions/transcript/tokens.ts";
import type { ModelRef } from "../../types/run/model.ts";
import type { AgentSettings, CompactionSettings } from "../../types/settings.ts";
import type { Shown } from "../run/plan.ts";
import { COMPACTION, roomIn, windowOf } from "../context/budget.ts";
import type { Conversation } from "../request.ts";

type Settings = Pick<AgentSettings, "contextTokens" | "compaction">;

/**
 * The models that may write a summary: the configured model, then the models of the conversation; only models that can
 * be called.
 */
export async function summarizerModelsFor(
  candidates: readonly ModelRef[],
  settings: Settings,
  models: Models,
): Promise<readonly ModelHandle[]> {
  const { model } = settings.compaction ?? COMPACTION;
  const found = await Promise.all([...(model ? [model] : []), ...candidates].map((ref) => models.find(ref)));
  return found.flatMap((handle) => ("missing" in handle ? [] : [handle]));
}

/** The window and the settings by which the conversation of a model is compacted. */
export const sizesFor = (
  { info }: ModelHandle,
  settings: Settings,
): { readonly window: number; readonly settings: CompactionSettings } => ({
  window: windowOf(info, settings),
  settings: settings.compaction ?? COMPACTION,
});

/** How full a conversation's window is. */
export interface Fill {
  /** Tokens, with the system prompt and the tools. */
  readonly filled: number;
  readonly window: number;
  /** Tokens of the system prompt and the tools, which no compaction makes smaller. */
  readonly fixed: number;
}

/**
 * How full the window is after a turn: the tokens of the turn's last call, or an estimate when that is more, as with
 * providers that report no tokens. The window counts as full when older turns were left out. The work grows with the
 * messages that the turn added, not with the conversation.
 */
export async function fillOf(
  shown: Shown,
  { conversation, filled }: { readonly conversation: Conversation; readonly filled: number },
  settings: Settings,
): Promise<Fill> {
  const window = windowOf(shown.handle.info, settings);
  const { fixed } = shown;
  if (shown.isCut) return { filled: window, window, fixed };
  const said = (shown.lastId === undefined ? undefined : await conversation.after(shown.lastId)) ?? [];
  const added = said.reduce((sum, entry) => sum + (entry.type === "message" ? estimateTokens(entry.message) : 0), 0);
  const estimated = shown.tokens + added;
  if (filled <= estimated) return { filled: estimated, window, fixed };
  // The model's provider counts more tokens, also in the fixed part.
  return { filled, window, fixed: Math.floor(fixed * (filled / estimated)) };
}

/** Tokens at which the next turn would not fit. */
export const fullAt = ({ window, fixed }: Fill, settings: Settings): number => fixed + roomIn(window, fixed, settings);

export const isFull = (fill: Fill, settings: Settings): boolean => fill.filled > fullAt(fill, settings);
