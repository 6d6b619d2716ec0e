import type { AfterTurnParams, ContextEngine } from "../../../types/engine/context-engine.ts";
import type { EngineTurnEnd } from "../../../types/engine/engine-turn.ts";
import type { AgentInternalEvent } from "../../../types/engine/internal-event.ts";
import type { ChatMessage } from "../../../types/run/model.ts";
import { shouldSuppressAgentPromptPersistence } from "../../../prompt/internal-events.ts";
import { copiesOf, copyOf } from "./copies.ts";

/** A turn, or the part of it that exists so far. */
export type News = Omit<EngineTurnEnd, "currentTokenCount"> & { readonly currentTokenCount: number | undefined };

export interface Telling {
  readonly messages: readonly ChatMessage[];
  /** Index of the first message that the engine did not get yet. */
  readonly start: number;
  /** Where the present turn begins. */
  readonly boundary: number;
  /** Set after a run: the name under which the turn is committed. */
  readonly commitAs: string | undefined;
  /** The events that the user message of this turn was made from. */
  readonly events: readonly AgentInternalEvent[] | undefined;
  readonly params: Omit<AfterTurnParams, "messages" | "prePromptMessageCount">;
}

/**
 * Gives an engine the new messages: as a commit if it supports that, or else with its most general method. Rejects as the
 * engine does.
 */
export async function tell(engine: ContextEngine, telling: Telling): Promise<void> {
  const { messages, start, params } = telling;
  const isCommitted = await commit(engine, telling);
  if (engine.afterTurn)
    return engine.afterTurn({ ...params, messages: copiesOf(messages), prePromptMessageCount: start });
  if (isCommitted) return;
  const fresh = messages.slice(start).filter((message) => isKept(message, telling.events));
  await ingest(engine, fresh, params);
}

/** An engine must not keep a prompt that the transcript does not keep. Another session has its content. */
const isKept = (message: ChatMessage, internalEvents: Telling["events"]): boolean =>
  message.role !== "user" ||
  !shouldSuppressAgentPromptPersistence({ inputProvenance: message.provenance, internalEvents });

async function commit(engine: ContextEngine, { messages, boundary, commitAs, params }: Telling): Promise<boolean> {
  if (!engine.commitTurn || !engine.info.transcriptSemantics || commitAs === undefined) return false;
  const { sessionId, sessionKey, sessionFile, runtimeContext, runtimeSettings, isHeartbeat } = params;
  await engine.commitTurn({
    sessionId,
    ...(sessionKey !== undefined && { sessionKey }),
    sessionFile,
    ...(runtimeContext && { runtimeContext }),
    ...(runtimeSettings && { runtimeSettings }),
    ...(isHeartbeat !== undefined && { isHeartbeat }),
    advancementKey: `${sessionId}:${commitAs}`,
    messages: copiesOf(messages.slice(boundary)),
    prePromptMessageCount: boundary,
  });
  return true;
}

async function ingest(engine: ContextEngine, fresh: readonly ChatMessage[], params: Telling["params"]): Promise<void> {
  const { sessionId, sessionKey, isHeartbeat, runtimeSettings } = params;
  const shared = {
    sessionId,
    ...(sessionKey !== undefined && { sessionKey }),
    ...(isHeartbeat !== undefined && { isHeartbeat }),
    ...(runtimeSettings && { runtimeSettings }),
  };
  if (fresh.length === 0) return;
  if (engine.ingestBatch) {
    await engine.ingestBatch({ ...shared, messages: copiesOf(fresh) });
    return;
  }
  for (const message of fresh) await engine.ingest({ ...shared, message: copyOf(message) });
}
