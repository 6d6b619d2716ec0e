import type { HookEvents } from "../../types/hook/events.ts";
import type { BoundHooks } from "../../types/hook/hooks.ts";
import type { EngineCompacted } from "../../types/engine/engine-turn.ts";
import type { Conversation } from "../request.ts";

interface Watched {
  readonly conversation: Pick<Conversation, "file">;
  readonly hooks?: BoundHooks | undefined;
}

/** Calls `before_compaction`; nobody waits for the hooks. */
export function notifyCompaction({ hooks, conversation }: Watched, event: HookEvents["before_compaction"]): void {
  hooks?.runner.notify("before_compaction", { ...event, ...fileOf(conversation) }, hooks.context);
}

/** Calls `after_compaction`; nobody waits for the hooks. */
export function notifyCompacted({ hooks, conversation }: Watched, event: HookEvents["after_compaction"]): void {
  hooks?.runner.notify("after_compaction", { ...event, ...fileOf(conversation) }, hooks.context);
}

/** Calls both hooks around the compaction of a context engine, whose counts of messages nobody knows (-1). */
export async function withCompactionHooks(
  watched: Watched,
  tokenCount: number | undefined,
  compact: () => Promise<EngineCompacted>,
): Promise<EngineCompacted> {
  notifyCompaction(watched, { messageCount: -1, ...(tokenCount !== undefined && { tokenCount }) });
  const done = await compact();
  if (done.kind === "nothing") return done;
  const { tokensAfter } = done;
  const size = tokensAfter !== undefined && { tokenCount: tokensAfter };
  notifyCompacted(watched, { messageCount: -1, compactedCount: -1, ...size });
  return done;
}

const fileOf = ({ file }: Pick<Conversation, "file">) => (file === undefined ? {} : { sessionFile: file });
