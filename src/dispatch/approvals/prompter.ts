import type { Run } from "../../harness/run.ts";
import { retryWhileDiskFull } from "../../store/retry-while-disk-full.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import { commandFormOf } from "../command-form.ts";
import { addressed } from "../turn/addressed.ts";
import type { Approval, ApprovalDecision } from "../../types/run/tool.ts";
import { answeredText, approvalButtons, approvalText } from "./approval-text.ts";
import type { TurnKind } from "../../types/run/turn-kind.ts";
import type { ApprovalPrompter } from "./approvals.ts";
import type { DispatchPorts } from "../ports.ts";
import { whyNobody, type ReachPorts } from "./reach.ts";
import { replaceQuestion, sendQuestion, type Question } from "./question-messages.ts";

/** Asks people whether a command may run: by the run's events, and in its chat. */
export function prompterFor(
  { message, kind }: { readonly message: InboundMessage; readonly kind: TurnKind },
  run: () => Run,
  ports: Pick<DispatchPorts, "outbox" | "clock" | "log" | "link"> & ReachPorts,
): ApprovalPrompter {
  const { outbox, log, link } = ports;
  // Clients show the question themselves.
  const isInChat = kind.asks === "chat" || message.options?.operator !== true;
  const chat = isInChat ? addressed(message)?.from : undefined;
  const textFor = (approval: Approval) => approvalText(approval, chat && commandFormOf({ link }, chat));
  // The command waits, runs or is denied whatever the disk does: only its message in the chat waits for it.
  const deliver = (approval: Approval, send: () => Promise<unknown>) =>
    void retryWhileDiskFull("question", send, ports).catch((error: unknown) =>
      log.error("question not delivered", { approval: approval.id, error }),
    );
  return {
    async whyUnasked(approval) {
      const nobody = whyNobody({ asks: kind.asks, chat, principal: approval.principal }, ports);
      if (nobody || !chat) return nobody;
      // A part of it might be overlooked.
      return (await outbox.isOneMessage(textFor(approval), chat)) ? undefined : "unshown";
    },
    asked(approval) {
      run().stream.emit({ type: "approval_request", approval });
      if (chat) deliver(approval, () => sendQuestion(chat, questionOf(approval, textFor(approval)), ports));
    },
    answered(approval, decision) {
      run().stream.emit({ type: "approval_end", id: approval.id, decision });
      if (chat) deliver(approval, () => replaceQuestion(chat, endOf(approval, textFor(approval), decision), ports));
    },
  };
}

const questionOf = (approval: Approval, text: string): Question => ({
  key: `approval:${approval.id}`,
  text,
  buttons: approvalButtons(approval),
});

const endOf = (approval: Approval, text: string, decision: ApprovalDecision) => ({
  ...questionOf(approval, text),
  answer: answeredText(approval, decision),
});
