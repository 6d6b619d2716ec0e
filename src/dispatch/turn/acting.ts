import type { InboxRow } from "../../types/journal.ts";
import { hasOwnerRights, type Acting } from "../../types/run/principal.ts";
import type { Session } from "../../types/session.ts";
import type { ChatScene } from "../../types/chat/send.ts";
import type { AskedFor } from "../approvals/approvals.ts";
import type { DispatchPorts } from "../ports.ts";
import type { PreparedTurn } from "./prepared-turn.ts";
import { chatName, principalOf } from "./principal.ts";

type PrincipalPorts = Pick<DispatchPorts, "settings" | "kinds">;

/** For whom a run of the turn asks. */
export function askedFor({ facts, rows, message }: PreparedTurn, ports: PrincipalPorts): AskedFor {
  const isOperator = message.options?.operator === true;
  return {
    facts,
    principal: principalOf(rows, ports),
    ...(!isOperator && { chat: chatName(message.from) }),
  };
}

/** What the tools of a turn may do follows from this. */
export const actingOf = (
  rows: readonly InboxRow[],
  { key, id }: Pick<Session, "key" | "id">,
  ports: PrincipalPorts,
): Acting => ({
  principal: principalOf(rows, ports),
  sessionKey: key,
  sessionId: id,
  ...(isSubagent(rows, ports) && { isSubagent: true }),
});

const isSubagent = (rows: readonly InboxRow[], { kinds }: PrincipalPorts): boolean =>
  rows.some(({ message }) => (kinds.of(message).depth?.(message) ?? 0) > 0);

/** The chat that a turn answers, if any. */
export function sceneOf(rows: readonly InboxRow[], ports: PrincipalPorts): ChatScene | undefined {
  const [first] = rows;
  if (!first) return undefined;
  const { options, from, id } = first.message;
  const isOperator = options?.operator === true;
  const peer = isOperator ? options.deliverTo : from;
  return (
    peer && {
      inboxId: first.id,
      peer,
      isOwner: hasOwnerRights(principalOf(rows, ports)),
      ...(!isOperator && id !== "" && { messageId: id }),
    }
  );
}
