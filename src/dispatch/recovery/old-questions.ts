import type { OutboxRow } from "../../types/journal.ts";
import type { DispatchPorts } from "../ports.ts";

const ENDED = "Not run: the gateway was restarted before anybody answered this question.";

/**
 * Ends approval questions that a killed gateway left in chats. The restart denies their commands, and the chat sees that in
 * place of the question. A question that may not have arrived is not sent again. Call it before the outbox recovers.
 */
export async function endOldQuestions(ports: Pick<DispatchPorts, "journal" | "outbox" | "log">): Promise<void> {
  for (const row of await ports.journal.outbox.unansweredQuestions()) {
    if (row.part > 0) continue;
    try {
      await endQuestion(row, ports);
    } catch (error) {
      ports.log.warn("old question not ended", { reply: row.replyKey, error });
    }
  }
}

async function endQuestion(
  { id, replyKey, to, messageId, state }: OutboxRow,
  { journal, outbox }: Pick<DispatchPorts, "journal" | "outbox">,
): Promise<void> {
  if (state !== "sent" || messageId === undefined)
    return journal.outbox.mark(id, { state: "failed", error: "the question ended with the gateway", isGivenUp: true });
  const blocks = [{ kind: "notice", markdown: ENDED, because: "approval" }] as const;
  await outbox.deliver({ replyKey: `${replyKey}:end`, to, blocks, editOf: messageId });
}
