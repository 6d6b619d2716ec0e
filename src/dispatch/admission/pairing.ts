import type { InboxRow } from "../../types/journal.ts";
import { PAIRING_WAITS, pairingText } from "../chat-texts.ts";
import type { ChatNotices } from "../notices/chat-notices.ts";
import type { DispatchPorts } from "../ports.ts";
import { leaveUnanswered } from "../signals/unanswered.ts";

type PairingPorts = Pick<DispatchPorts, "journal" | "onPairing" | "link" | "log"> & { readonly notices: ChatNotices };

/**
 * Ends a stranger's message and sends a pairing code, once per code. While three codes are pending, other strangers get none
 * until one of them ends or is ten minutes old.
 */
export async function offerPairing(row: InboxRow, ports: PairingPorts): Promise<void> {
  const { from, sender } = row.message;
  const asked = await ports.journal.pairing.request({
    channel: from.channel,
    account: from.account,
    senderId: sender.id,
    ...(sender.name !== undefined && { name: sender.name }),
  });
  if (asked.kind === "new") ports.onPairing?.(asked.request);
  const isDue = isReplyDue(asked, row);
  if (isDue) {
    const text = pairingText(asked.request.code, from.channel);
    await ports.notices.answer(row, { text, because: "pairing" });
  }
  // The operator would not learn about this stranger otherwise.
  const level = asked.kind === "full" ? "warn" : "info";
  ports.log[level]("pairing", {
    session: ports.notices.sessionOf(row),
    inbox: row.id,
    channel: from.channel,
    sender: sender.id,
    state: asked.kind,
  });
  await ports.journal.inbox.finish([row.id], { kind: "dropped", why: `pairing (${asked.kind})` }, "pair");
  if (!isDue) leaveUnanswered([row], ports, PAIRING_WAITS);
}

type Asked = Awaited<ReturnType<DispatchPorts["journal"]["pairing"]["request"]>>;

/**
 * Whether the message gets the code. The process may have ended between the request for the code and its reply: then the reply
 * is still due, and the outbox sends it once even if it was planned.
 */
function isReplyDue(asked: Asked, { acceptedAt }: InboxRow): asked is Exclude<Asked, { kind: "full" }> {
  if (asked.kind === "again") return acceptedAt !== undefined && asked.request.createdAt >= acceptedAt;
  return asked.kind === "new";
}
