import { hash } from "node:crypto";
import { runId, type RunId } from "../types/ids.ts";
import type { InboundMessage, Peer } from "../types/chat/message.ts";
import type { InboxRow } from "../types/journal.ts";
import type { RunFacts } from "../types/run/run.ts";
import type { Session } from "../types/session.ts";
import type { TurnKind } from "../types/run/turn-kind.ts";
import { once } from "../utils/share-calls.ts";
import { OPERATOR, type Principal } from "../types/run/principal.ts";
import type { DispatchPorts } from "./ports.ts";

/** The transcript id of a turn: the same after every restart. */
export const turnIdOf = (row: InboxRow): string => row.turnId ?? idOf(row.message);

const idOf = once(({ from: { channel, account }, eventKey }: InboundMessage): string =>
  hash("sha256", `${channel}\n${account}\n${eventKey}`, "buffer").toString("hex", 0, 8),
);

/**
 * The id of the run that a message begins. Web and command-line clients choose the id: it is their idempotency key.
 * Elsewhere the turn names its run.
 */
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

/** The principal for whom a turn acts: an owner only when all of its messages are from owners. */
export function principalOf(
  rows: readonly Pick<InboxRow, "message">[],
  { settings, kinds }: Pick<DispatchPorts, "settings" | "kinds">,
): Principal {
  const { isOwner } = settings();
  const row = rows.find(({ message }) => !isOwner(message)) ?? rows[0];
  if (!row) return { kind: "sender", id: "nobody" };
  const { message } = row;
  const automation = kinds.of(message).actsFor?.(message);
  if (automation) return automation;
  if (message.options?.operator === true) return OPERATOR;
  const { sender, from } = message;
  const id = `${from.channel}:${sender.e164 ?? sender.id}`;
  const name = sender.name ?? sender.username;
  const other = from.chat.kind === "group" ? "member" : "sender";
  return { kind: isOwner(message) ? "owner" : other, id, ...(name !== undefined && { name }) };
}

/** The name of a chat in a question to a person. */
export const chatName = ({ channel, chat }: Peer): string =>
  chat.kind === "group" ? `the group ${chat.title ?? ""} (${channel}:${chat.id})` : `${channel}:${chat.id}`;
