import type { Peer } from "../../types/chat/message.ts";
import type { ReplyButton } from "../../types/chat/reply.ts";
import type { OutboxRow } from "../../types/journal.ts";
import type { DispatchPorts } from "../ports.ts";

/** How often, and after how many milliseconds each, the end of a question checks whether its message has been sent. */
const QUESTION_CHECKS = 20;
const QUESTION_CHECK_MS = 500;

/** A question with buttons that answers no message. */
export interface ButtonQuestion {
  readonly key: string;
  readonly text: string;
  readonly buttons: readonly ReplyButton[];
}

/** Sends a question. A second call with the same key sends nothing. Resolves with the question's rows. */
export const sendQuestion = (
  to: Peer,
  { key, text, buttons }: ButtonQuestion,
  { chats: { outbox } }: Pick<DispatchPorts, "chats">,
): Promise<readonly OutboxRow[]> =>
  outbox.deliver({
    replyKey: key,
    to,
    blocks: [{ kind: "notice", markdown: text, because: "approval" }],
    buttons,
  });

interface AnsweredQuestion extends ButtonQuestion {
  readonly answer: string;
  /** Whether the chat is a target of the config, whose readers do not see the command's result there. */
  readonly isTarget: boolean;
}

type EndPorts = Pick<DispatchPorts, "chats" | "clock">;

/**
 * Replaces a question and its buttons with its answer. Where a platform cannot edit, the question stays, and a target
 * gets the answer as a further message. A question that is not sent in time is given up.
 */
export async function replaceQuestion(
  to: Peer,
  { answer, isTarget, ...question }: AnsweredQuestion,
  ports: EndPorts,
): Promise<void> {
  if (!isTarget && !mayEdit(to, ports)) return;
  const row = await sentRow(to, question, ports);
  if (!row) return;
  const edited = mayEdit(to, ports) ? row.messageId : undefined;
  if (edited === undefined && !isTarget) return;
  await ports.chats.outbox.deliver({
    replyKey: `${question.key}:end`,
    to: row.to,
    blocks: [{ kind: "notice", markdown: answer, because: "approval" }],
    ...(edited !== undefined && { editOf: edited }),
  });
}

/**
 * Whether the platform may be able to edit. A platform that is not connected may be: the outbox keeps the change until
 * there is a connection, and sends a message if the platform cannot edit.
 */
function mayEdit(to: Peer, { chats: { link } }: Pick<EndPorts, "chats">): boolean {
  const found = link(to);
  return found === undefined || found.edit !== undefined;
}

/**
 * The row of a question's message, once the message is sent. Undefined when the message was not sent in time: then it
 * is not sent later either.
 */
async function sentRow(to: Peer, question: ButtonQuestion, ports: EndPorts): Promise<OutboxRow | undefined> {
  let waiting: OutboxRow | undefined;
  for (let check = 0; check < QUESTION_CHECKS; check += 1) {
    const [row] = await sendQuestion(to, question, ports);
    if (row === undefined || row.state === "failed") return undefined;
    if (row.state === "sent") return row;
    waiting = row;
    await new Promise<void>((resolve) => ports.clock.after(QUESTION_CHECK_MS, resolve));
  }
  if (waiting) await ports.chats.outbox.drop(waiting.id);
  return undefined;
}
