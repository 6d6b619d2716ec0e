import { STALE } from "../../store/database/counts.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import type { DispatchPorts } from "../ports.ts";
import { staleKey, type Replies } from "../notices/replies.ts";
import { staleText } from "../notices/chat-texts.ts";

/** Limits for the messages that are still answered after an outage. */
export interface RecoveryLimits {
  /** Milliseconds since a message arrived; older messages are not answered. */
  readonly maxAgeMs: number;
  /** The number of messages of people who may write; of more, the oldest are not answered. */
  readonly maxRows: number;
}

type Groups = readonly (readonly InboxRow[])[];

type NoticePorts = Pick<DispatchPorts, "clock" | "log" | "settings">;
export type StalePorts = NoticePorts & Pick<DispatchPorts, "chats" | "storage">;

/**
 * Separates turns that are still answered from turns that are too old. A turn whose reply is planned is never too old.
 */
export async function partByAge(
  groups: Groups,
  { storage: { journal }, clock, chats }: Pick<DispatchPorts, "storage" | "clock" | "chats">,
  { maxAgeMs, maxRows }: RecoveryLimits,
): Promise<{ fresh: Groups; stale: Groups }> {
  const fresh: (readonly InboxRow[])[] = [];
  const stale: (readonly InboxRow[])[] = [];
  let count = 0;
  for (const group of groups.toReversed()) {
    const last = group.at(-1);
    // Many messages of strangers, or reactions, must not keep an answer from somebody who wrote before them.
    for (const row of group) if (await isLetIn(row, { chats })) count += 1;
    const isOver = last !== undefined && (clock.now() - waitsSince(last) > maxAgeMs || count > maxRows);
    const isLate = isOver && !(await isAnswered(group[0] ?? last, journal));
    (isLate ? stale : fresh).push(group);
  }
  return { fresh: fresh.toReversed(), stale: stale.toReversed() };
}

/**
 * Whether a message was answered, at least in part. The line about stale messages is no answer: a crash may have come
 * before the messages were ended.
 */
async function isAnswered({ id }: InboxRow, { outbox }: DispatchPorts["storage"]["journal"]): Promise<boolean> {
  return (await outbox.of(id)).some((row) => row.replyKey !== staleKey(id));
}

/**
 * The time since which a message waits, in epoch milliseconds. An operator's retry counts from the retry, whenever its
 * message was written.
 */
function waitsSince({ acceptedAt, againOf, message }: InboxRow): number {
  const taken = acceptedAt ?? message.receivedAt;
  return againOf === undefined ? Math.min(taken, message.sentAt ?? taken) : taken;
}

/**
 * Ends messages that became too old during an outage. Each chat is informed about its messages in one line; strangers
 * are not informed.
 */
export async function leaveStale(rows: readonly InboxRow[], replies: Replies, ports: StalePorts): Promise<void> {
  const known: InboxRow[] = [];
  for (const row of rows) {
    if (await isLetIn(row, ports)) known.push(row);
    else await ports.storage.journal.inbox.finish([row.id], { kind: "dropped", why: whyOf([row], ports) }, "drop");
  }
  await endStale(known, replies, ports);
}

/** Ends messages of senders who were let in, and informs each chat about its messages in one line. */
export async function endStale(rows: readonly InboxRow[], replies: Replies, ports: NoticePorts): Promise<void> {
  if (rows.length === 0) return;
  const chats = Map.groupBy(rows, (row) => chatOf(row.message));
  for (const own of chats.values()) await replies.leaveStale(own, noteFor(own, ports), whyOf(own, ports));
  ports.log.warn("messages too old to be answered", {
    count: rows.length,
    chats: chats.size,
    why: whyOf(rows, ports),
  });
}

/** Whether the sender of a message was let in. A message that is not decided yet may be from a stranger. */
async function isLetIn({ sessionKey, message }: InboxRow, ports: Pick<DispatchPorts, "chats">): Promise<boolean> {
  if (sessionKey !== undefined || message.options?.operator === true) return true;
  return (await ports.chats.gate(message)).kind === "pass";
}

const chatOf = ({ from, options }: InboundMessage): string =>
  [from.channel, from.account, from.chat.id, from.thread ?? "", options?.sessionKey ?? ""].join("\n");

function whyOf(rows: readonly InboxRow[], { clock }: Pick<DispatchPorts, "clock">): string {
  const hours = Math.floor((clock.now() - Math.min(...rows.map(waitsSince))) / 3_600_000);
  return hours > 0 ? `${STALE}waited for ${hours} h over an outage` : `${STALE}too many others waited over an outage`;
}

function noteFor(rows: readonly InboxRow[], ports: Pick<DispatchPorts, "settings">): string {
  const { agents, defaultAgent } = ports.settings();
  const timeZone = agents.get(defaultAgent)?.timezone;
  const show = (at: number) =>
    new Date(at).toLocaleString("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });
  const times = rows.map(({ message }) => message.sentAt ?? message.receivedAt);
  return staleText(rows.length, show(Math.min(...times)), show(Math.max(...times)));
}
