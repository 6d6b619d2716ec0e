import type { ModelHandle, Models } from "../providers/catalog.ts";
import { estimateTokens } from "../sessions/tokens.ts";
import type { ModelRef } from "../types/model.ts";
import type { SessionEntry } from "../types/session.ts";
import type { AgentSettings, CompactionSettings } from "../types/settings.ts";
import type { Shown } from "./plan.ts";
import { COMPACTION, fixedTokens, roomIn, windowOf } from "./budget.ts";
import type { Conversation, RunRequest } from "./request.ts";

type Settings = Pick<AgentSettings, "contextTokens" | "compaction">;

/** Who writes a summary: the configured writer, then the models of the conversation; those that can be called. */
export async function writersFor(
  candidates: readonly ModelRef[],
  settings: Settings,
  models: Models,
): Promise<readonly ModelHandle[]> {
  const { model } = settings.compaction ?? COMPACTION;
  const found = await Promise.all([...(model ? [model] : []), ...candidates].map((ref) => models.find(ref)));
  return found.flatMap((handle) => ("missing" in handle ? [] : [handle]));
}

/** How the conversation of a model is compacted. */
export const sizesFor = (
  { info }: ModelHandle,
  settings: Settings,
): { readonly window: number; readonly settings: CompactionSettings } => ({
  window: windowOf(info, settings),
  settings: settings.compaction ?? COMPACTION,
});

/** Whether the next turn would not fit: by what the last call took, by estimate, or since older turns were left out. */
export async function isFull(
  shown: Shown,
  { conversation, filled }: { readonly conversation: Conversation; readonly filled: number },
  settings: Settings,
): Promise<boolean> {
  const room = roomIn(windowOf(shown.handle.info, settings), settings);
  if (shown.isCut || filled > room) return true;
  const said = (shown.lastId === undefined ? undefined : await conversation.after(shown.lastId)) ?? [];
  const added = said.reduce((sum, entry) => sum + (entry.type === "message" ? estimateTokens(entry.message) : 0), 0);
  return shown.tokens + added > room;
}

/** How full a conversation's window is. */
export interface Fill {
  /** Tokens, with all that stands around the conversation. */
  readonly filled: number;
  readonly window: number;
}

/** Behind a turn: by what its last call took, or by estimate when that is more, as with providers that do not say it. */
export async function fillOf(
  request: Omit<RunRequest, "turn">,
  { totalTokens = 0, contextTokens }: Readonly<SessionEntry>,
  models: Models,
): Promise<Fill> {
  const [first] = request.candidates;
  const found = first && (await models.find(first));
  if (!found || "missing" in found) return { filled: totalTokens, window: contextTokens ?? Number.POSITIVE_INFINITY };
  const window = contextTokens ?? windowOf(found.info, request.settings);
  const { text } = await request.systemPrompt(found.info);
  const { estimatedTokens, older } = await request.conversation.window(window);
  const estimate = older ? window : estimatedTokens + fixedTokens(text, request.tools);
  return { filled: Math.max(totalTokens, estimate), window };
}
