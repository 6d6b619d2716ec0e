import type { Peer } from "../../types/chat/message.ts";
import type { ReplyButton } from "../../types/chat/reply.ts";
import type { OutboxRow } from "../../types/journal.ts";
import type { DispatchPorts } from "../ports.ts";

/** How often, and after how many milliseconds each, the end of a question checks whether its message has been sent. */
const QUESTION_CHECKS = 20;
const QUESTION_CHECK_MS = 500;

/** A question with buttons that answers no message. */
export interface Question {
  readonly key: string;
  readonly text: string;
  readonly buttons: readonly ReplyButton[];
}

/** Sends a question. A second call with the same key sends nothing. Resolves with the question's rows. */
export const sendQuestion = (
  to: Peer,
  { key, text, buttons }: Question,
  { outbox }: Pick<DispatchPorts, "outbox">,
): Promise<readonly OutboxRow[]> =>
  outbox.deliver({
    replyKey: key,
    to,
    blocks: [{ kind: "notice", markdown: text, because: "approval" }],
    buttons,
  });

/** Replaces a question and its buttons with its answer. Where a platform cannot edit, the question stays. */
export async function replaceQuestion(
  to: Peer,
  { answer, ...question }: Question & { readonly answer: string },
  ports: Pick<DispatchPorts, "outbox" | "link" | "clock">,
): Promise<void> {
  if (!ports.link(to)?.edit) return;
  for (let check = 0; check < QUESTION_CHECKS; check += 1) {
    const [row] = await sendQuestion(to, question, ports);
    if (row === undefined || row.state === "failed") return;
    if (row.messageId !== undefined) {
      const blocks = [{ kind: "notice", markdown: answer, because: "approval" }] as const;
      await ports.outbox.deliver({ replyKey: `${question.key}:end`, to: row.to, blocks, editOf: row.messageId });
      return;
    }
    await new Promise<void>((resolve) => ports.clock.after(QUESTION_CHECK_MS, resolve));
  }
}
