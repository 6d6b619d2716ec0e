import { alignHistory } from "../../sessions/shown/given-history.ts";
import type { GivenHistory } from "../../types/chat/client-ask.ts";
import type { Session } from "../../types/session.ts";
import { abandonTurn } from "../notices/unanswered-turns.ts";
import type { DispatchPorts } from "../ports.ts";

/** The most entries at the end of a conversation that are compared with a client's history. */
const MOST_COMPARED = 400;

/**
 * Makes the conversation begin as its client has it, before the client's turn: adds what the client brings and the
 * transcript lacks. The turns that a client of its own conversation has taken back stay in the file, as another branch.
 * Rejects when the transcript cannot be written.
 */
export async function takeHistory(
  session: Session,
  turnId: string,
  { messages, isAll }: GivenHistory,
  { log }: Pick<DispatchPorts, "log">,
): Promise<void> {
  // An earlier process has begun the turn.
  if ((await session.after(turnId)) !== undefined) return;
  const { missing, left, isKnown } = alignHistory(messages, await session.newest(MOST_COMPARED));
  // What a summary replaced cannot be compared.
  if (!isKnown && (session.entry.compactionCount ?? 0) > 0) return;
  if (isAll && left !== undefined) {
    await abandonTurn(session, left, log, "the client took it back");
    await session.update({ totalTokensFresh: false }, { now: true });
  }
  for (const message of missing) await session.append({ type: "message", message });
  if (missing.length > 0) log.info("history of a client taken in", { session: session.key, messages: missing.length });
}
