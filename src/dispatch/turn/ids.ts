import { hash } from "node:crypto";
import { runId, type RunId } from "../../types/ids.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { RunFacts } from "../../types/run/run.ts";
import type { Session } from "../../types/session.ts";
import type { TurnKind } from "../../types/run/turn-kind.ts";
import { once } from "../../utils/share-calls.ts";

/** The transcript id of a turn: the same after every restart. */
export const turnIdOf = (row: InboxRow): string => row.turnId ?? idOf(row.message);

const idOf = once(({ from: { channel, account }, eventKey }: InboundMessage): string =>
  hash("sha256", `${channel}\n${account}\n${eventKey}`, "buffer").toString("hex", 0, 8),
);

/** Web and command-line clients choose the run id: it is their idempotency key. Elsewhere the turn names its run. */
export function runIdOf(row: InboxRow): RunId {
  return row.runId ?? runId(row.message.options?.operator === true ? row.message.id : turnIdOf(row));
}

/** The facts of the run that a message begins. */
export function factsFor(
  row: InboxRow,
  session: Pick<Session, "key" | "id" | "agentId">,
  { trigger }: TurnKind,
): RunFacts {
  const { plugin } = row.message.options?.subagent ?? {};
  return {
    runId: runIdOf(row),
    sessionKey: session.key,
    sessionId: session.id,
    agentId: session.agentId,
    trigger,
    turnId: turnIdOf(row),
    ...(plugin !== undefined && { plugin }),
  };
}
