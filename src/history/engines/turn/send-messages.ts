import type { AfterTurnParams, ContextEngine } from "../../../types/engine/context-engine.ts";
import type { EngineTurnEnd } from "../../../types/engine/engine-turn.ts";
import type { ChatMessage } from "../../../types/run/model.ts";
import { isVolatile } from "../../../prompt/internal-events.ts";
import { copiesOf, copyOf } from "./copies.ts";

/** A turn, complete or up to the present. */
export type TurnSoFar = Omit<EngineTurnEnd, "currentTokenCount"> & { readonly currentTokenCount: number | undefined };

/** The messages to send, and what an engine gets with them. */
export interface MessagesToSend {
  readonly messages: readonly ChatMessage[];
  /** Index of the first message that the engine has not received. */
  readonly start: number;
  /** Index of the first message that is new with the current turn. */
  readonly boundary: number;
  /** Set after a run: the key under which the turn is committed. */
  readonly commitAs: string | undefined;
  readonly params: Omit<AfterTurnParams, "messages" | "prePromptMessageCount">;
}

/** Sends an engine the new messages: by `commitTurn`, then by `afterTurn`, `ingestBatch` or `ingest`. Rejects if the engine does. */
export async function sendMessages(engine: ContextEngine, toSend: MessagesToSend): Promise<void> {
  const { messages, start, params } = toSend;
  const isCommitted = await commit(engine, toSend);
  if (engine.afterTurn)
    return engine.afterTurn({ ...params, messages: copiesOf(messages), prePromptMessageCount: start });
  if (isCommitted) return;
  const fresh = messages.slice(start).filter(isKept);
  await ingest(engine, fresh, params);
}

/** An engine must not keep a prompt that the transcript does not keep: another session has its content. */
const isKept = (message: ChatMessage): boolean => message.role !== "user" || !isVolatile(message);

async function commit(
  engine: ContextEngine,
  { messages, boundary, commitAs, params }: MessagesToSend,
): Promise<boolean> {
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

async function ingest(
  engine: ContextEngine,
  fresh: readonly ChatMessage[],
  params: MessagesToSend["params"],
): Promise<void> {
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
