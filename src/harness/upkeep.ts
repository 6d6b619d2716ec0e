import type { ModelHandle, Models } from "../providers/catalog.ts";
import { estimateTokens } from "../sessions/tokens.ts";
import type { ModelRef } from "../types/model.ts";
import type { AgentSettings, CompactionSettings } from "../types/settings.ts";
import type { Shown } from "./attempt.ts";
import { COMPACTION, roomIn, windowOf } from "./budget.ts";
import type { Conversation } from "./request.ts";

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
