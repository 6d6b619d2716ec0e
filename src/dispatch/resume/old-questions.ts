import type { OutboxRow } from "../../types/journal.ts";
import type { QuestionEnd } from "../../types/chat/question-end.ts";
import { oldAnswerText } from "../approvals/approval-text.ts";
import { QuestionEnds } from "../approvals/question-ends.ts";
import type { DispatchPorts } from "../ports.ts";

/**
 * Ends approval questions that a killed gateway left in chats. The restart denies the questions that nobody answered.
 * In place of each question, the chat sees how it ended. A question that may not have arrived is not sent again. Call
 * this function before the outbox recovers.
 */
export async function endOldQuestions(
  ports: Pick<DispatchPorts, "storage" | "chats" | "clock" | "log">,
): Promise<void> {
  const ends = new QuestionEnds(ports.storage.journal.values, ports.clock, ports.log);
  for (const row of await ports.storage.journal.outbox.unansweredQuestions()) {
    if (row.part > 0) continue;
    try {
      await endQuestion(row, (await ends.of(idOf(row))) ?? { how: "restart" }, ports);
    } catch (error) {
      ports.log.warn("old question not ended", { reply: row.replyKey, error });
    }
  }
}

const idOf = ({ replyKey }: OutboxRow): string => replyKey.split(":")[1] ?? "";

async function endQuestion(
  { id, replyKey, to, messageId, state }: OutboxRow,
  end: QuestionEnd,
  { storage: { journal }, chats: { outbox } }: Pick<DispatchPorts, "storage" | "chats">,
): Promise<void> {
  if (state !== "sent" || messageId === undefined)
    return journal.outbox.mark(id, { state: "failed", error: "the question ended with the gateway", isGivenUp: true });
  const blocks = [{ kind: "notice", markdown: oldAnswerText(end), because: "approval" }] as const;
  await outbox.deliver({ replyKey: `${replyKey}:end`, to, blocks, editOf: messageId });
}
