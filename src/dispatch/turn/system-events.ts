import type { SystemEvent, SystemEvents } from "../../types/journal.ts";
import type { UserTurn } from "../../harness/request.ts";
import type { RunFacts } from "../../types/run/run.ts";
import type { Session } from "../../types/session.ts";
import type { TurnKind } from "../../types/run/turn-kind.ts";
import type { DispatchPorts } from "../ports.ts";
import type { RunEnd } from "../../harness/log/run-end.ts";

type SessionEntries = Pick<Session, "key" | "after">;

/**
 * Claims the system events of a turn in the journal. A turn that is already in the transcript gets none. Events that an
 * earlier turn claimed are claimed again, unless the transcript has that turn. Rejects when the journal cannot be
 * written.
 */
export async function claimEvents(
  session: SessionEntries,
  turnId: string,
  events: SystemEvents,
): Promise<readonly SystemEvent[]> {
  const { key } = session;
  const { turnIds, waiting } = await events.claims(key);
  if (turnIds.length === 0 && !waiting) return [];
  for (const id of turnIds) if (await isTold(session, id)) await events.remove(key, id);
  return (await isTold(session, turnId)) ? [] : events.claim(key, turnId);
}

const isTold = async (session: SessionEntries, turnId: string): Promise<boolean> =>
  (await session.after(turnId)) !== undefined;

interface EventedTurn {
  readonly facts: Pick<RunFacts, "runId">;
  readonly kind: TurnKind;
  readonly turn: Pick<UserTurn, "entryId">;
  readonly hasEvents: boolean;
}

/**
 * Removes a turn's events from the journal at its end. A turn that did not reach the transcript, or that the transcript
 * does not keep, leaves them to the next turn. Never rejects: the next turn checks what is left.
 */
export async function removeEvents(
  { facts, kind, turn, hasEvents }: EventedTurn,
  session: SessionEntries,
  { result, window }: Pick<RunEnd, "result" | "window">,
  { storage: { journal }, log }: Pick<DispatchPorts, "storage" | "log">,
): Promise<void> {
  const isOver = result.kind !== "aborted" || result.by !== "shutdown";
  if (!hasEvents || !isOver || (kind.transcript !== "always" && result.kind !== "replied")) return;
  try {
    // With a window a model was asked, so the transcript has the turn.
    if (window !== undefined || (await isTold(session, turn.entryId)))
      await journal.events.remove(session.key, turn.entryId);
  } catch (error) {
    log.warn("system events of a turn not removed", { run: facts.runId, error });
  }
}
