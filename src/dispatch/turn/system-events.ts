import type { SystemEvent, SystemEvents } from "../../types/journal.ts";
import type { UserTurn } from "../../harness/request.ts";
import type { RunFacts } from "../../types/run/run.ts";
import type { Session } from "../../types/session.ts";
import type { TurnKind } from "../../types/run/turn-kind.ts";
import type { DispatchPorts } from "../ports.ts";
import type { RunEnd } from "../../harness/log/run-end.ts";

type Told = Pick<Session, "key" | "after">;

/**
 * The system events that a turn tells, claimed for it in the journal. A turn that the transcript has already tells none anew,
 * and what an earlier turn claimed comes again unless the transcript has that turn. Rejects when the journal cannot be written.
 */
export async function claimEvents(
  session: Told,
  turnId: string,
  events: SystemEvents,
): Promise<readonly SystemEvent[]> {
  const { key } = session;
  const { turnIds, waiting } = await events.claims(key);
  if (turnIds.length === 0 && !waiting) return [];
  for (const id of turnIds) if (await isTold(session, id)) await events.remove(key, id);
  return (await isTold(session, turnId)) ? [] : events.claim(key, turnId);
}

const isTold = async (session: Told, turnId: string): Promise<boolean> => (await session.after(turnId)) !== undefined;

interface EventedTurn {
  readonly facts: Pick<RunFacts, "runId">;
  readonly kind: TurnKind;
  readonly turn: Pick<UserTurn, "entryId">;
  readonly hasEvents: boolean;
}

/**
 * At a turn's end: the journal forgets the events that it told. One that never reached the transcript leaves them to the next
 * turn, and so does a turn that the transcript does not keep. Never rejects: what stays is looked at by the next turn.
 */
export async function removeEvents(
  { facts, kind, turn, hasEvents }: EventedTurn,
  session: Told,
  { result, window }: Pick<RunEnd, "result" | "window">,
  { journal, log }: Pick<DispatchPorts, "journal" | "log">,
): Promise<void> {
  const isOver = result.kind !== "aborted" || result.by !== "shutdown";
  if (!hasEvents || !isOver || (kind.transcript !== "always" && result.kind !== "replied")) return;
  try {
    // A model is asked only when the transcript has the turn.
    if (window !== undefined || (await isTold(session, turn.entryId)))
      await journal.events.remove(session.key, turn.entryId);
  } catch (error) {
    log.warn("system events of a turn not removed", { run: facts.runId, error });
  }
}
