import type { InboxRow } from "../../types/journal.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import { hasOwnerRights, type Acting } from "../../types/run/principal.ts";
import type { SenderNames } from "../../types/tool-policy.ts";
import type { Session } from "../../types/session.ts";
import type { ChatScene } from "../../types/chat/send.ts";
import type { AskedFor } from "../approvals/approvals.ts";
import type { DispatchPorts } from "../ports.ts";
import type { PreparedTurn } from "../prepared-turn.ts";
import { addressed } from "../chats.ts";
import { chatName, principalOf } from "../turn-facts.ts";
import { elevatedLevelOf, sessionExecOf, stricterExec } from "../../types/run/exec-wish.ts";
import { setBy } from "../directives/said.ts";

type PrincipalPorts = Pick<DispatchPorts, "settings" | "kinds">;

/** The run of the turn that asks, and the principal for whom it asks. */
export function askedFor({ facts, rows, message }: PreparedTurn, ports: PrincipalPorts): AskedFor {
  const isOperator = message.options?.operator === true;
  return {
    facts,
    principal: principalOf(rows, ports),
    ...(!isOperator && { chat: chatName(message.from) }),
  };
}

/** The people whom a run of the turn asks. Clients show the run's questions themselves. */
export function askingOf({ message, kind }: Pick<PreparedTurn, "message" | "kind">) {
  const isInChat = kind.asks === "chat" || message.options?.operator !== true;
  return { asks: kind.asks, chat: isInChat ? addressed(message)?.from : undefined };
}

/** The facts from which the rights of a turn's tools follow. */
export const actingOf = (
  rows: readonly InboxRow[],
  session: Pick<Session, "key" | "id" | "entry">,
  ports: PrincipalPorts,
): Acting => ({
  principal: principalOf(rows, ports),
  sessionKey: session.key,
  sessionId: session.id,
  ...placeOf(rows, ports),
  ...execWishOf(rows, session, ports),
});

/** The facts that rules about tools need: who wrote, where, and for which run. */
function placeOf(
  rows: readonly InboxRow[],
  { kinds, settings }: PrincipalPorts,
): Pick<Acting, "depth" | "root" | "senders" | "chatRules" | "inherited" | "only"> {
  const [first] = rows;
  if (!first) return {};
  const depth = Math.max(...rows.map(({ message }) => kinds.of(message).depth?.(message) ?? 0));
  const { message } = first;
  const from = message.options?.operator === true ? message.options.deliverTo : message.from;
  const chatRules = from && settings().chatTools?.({ ...message, from });
  return {
    ...(depth > 0 && { depth }),
    senders: rows.flatMap((row) => senderOf(row.message, kinds)),
    ...(chatRules && chatRules.length > 0 && { chatRules }),
    ...inheritedBy(message),
  };
}

/**
 * The tools of the run that asked for this turn, or that started the command that woke it, and the tools that a
 * scheduled job names.
 */
function inheritedBy({ options = {} }: InboundMessage): Pick<Acting, "inherited" | "only" | "root"> {
  const { subagent, announce, relay, exec, cron } = options;
  const from = subagent ?? announce ?? relay;
  const inherited = from?.tools ?? exec?.tools;
  const only = cron?.tools;
  return { ...(inherited && { inherited }), ...(only && { only }), ...(from?.root && { root: from.root }) };
}

/** The sender of a message. Operators' clients and turns that nobody wrote have no sender. */
function senderOf(message: InboundMessage, kinds: PrincipalPorts["kinds"]): readonly SenderNames[] {
  if (message.options?.operator === true || kinds.of(message).actsFor) return [];
  const { id, e164, username, name } = message.sender;
  return [{ channel: message.from.channel, id, e164, username, name }];
}

/**
 * The chat that a turn answers. Undefined where there is none, unless an operator's client wrote, who may name chats.
 */
export function chatSceneOf(rows: readonly InboxRow[], ports: PrincipalPorts): ChatScene | undefined {
  const [first] = rows;
  if (!first) return undefined;
  const { options, from, id } = first.message;
  const isOperator = options?.operator === true;
  const peer = isOperator ? options.deliverTo : from;
  if (!peer && ports.kinds.of(first.message).actsFor) return undefined;
  return {
    inboxId: first.id,
    ...(peer && { peer }),
    isOwner: hasOwnerRights(principalOf(rows, ports)),
    ...(!isOperator && id !== "" && { messageId: id }),
  };
}

type Ports = Pick<DispatchPorts, "settings" | "kinds">;

/**
 * The settings for a turn's commands that the conversation and the turn's messages have. They are read once: later
 * settings hold for the next turn.
 */
function execWishOf(
  rows: readonly InboxRow[],
  { key, entry }: Pick<Session, "key" | "entry">,
  ports: Ports,
): Pick<Acting, "exec" | "elevated"> {
  const said = setBy(
    rows.map(({ message }) => message),
    key,
    ports,
  );
  const own = sessionExecOf({ host: entry.execHost, security: entry.execSecurity, ask: entry.execAsk });
  const exec = stricterExec(own, said.exec);
  const rules = ports.settings();
  const usual = rules.agents.get(rules.agentOf(key))?.elevated;
  const level = said.elevated ?? elevatedLevelOf(entry.elevatedLevel) ?? usual ?? "request";
  return {
    ...(Object.keys(exec).length > 0 && { exec }),
    ...(mayElevate(rows, key, ports) && { elevated: level }),
  };
}

/**
 * Whether all who wrote the turn's messages may let commands leave the sandbox. Nobody wrote a heartbeat or the task of
 * a subagent.
 */
function mayElevate(rows: readonly InboxRow[], key: Session["key"], { settings, kinds }: Ports): boolean {
  const rules = settings();
  return (
    rows.length > 0 &&
    rows.every(
      ({ message }) => kinds.of(message).takesCommands && rules.mayElevate?.(message, rules.agentOf(key)) === true,
    )
  );
}
