import type { Run } from "../harness/run.ts";
import type { InboundMessage } from "../types/message.ts";
import { approvalButtons, approvalText } from "./approvals.ts";
import { isHeartbeat } from "./heartbeat.ts";
import type { RunnerPorts } from "./runner-ports.ts";

/** The message as the chat that is answered knows it: an operator's has no id there that could be quoted. */
export function addressed(message: InboundMessage): InboundMessage | undefined {
  if (message.options?.operator !== true) return message;
  const { deliverTo } = message.options;
  return deliverTo && { ...message, id: "", from: deliverTo };
}

/** How people are asked whether a command may run: by the run's events, and in its chat. */
export function askerFor(
  message: InboundMessage,
  run: () => Run,
  { replies, log }: Pick<RunnerPorts, "replies" | "log">,
) {
  // Whoever is at a client sees the question there; a heartbeat has nobody.
  const chat = isHeartbeat(message) || message.options?.operator !== true ? addressed(message)?.from : undefined;
  return {
    asked: (approval: Parameters<typeof approvalText>[0]) => {
      run().stream.emit({ type: "approval_request", approval });
      if (!chat) return;
      const notice = { key: `approval:${approval.id}`, text: approvalText(approval), because: "approval" as const };
      void replies
        .tell(chat, { ...notice, buttons: approvalButtons(approval.id) })
        .catch((error: unknown) => log.error("question not delivered", { approval: approval.id, error }));
    },
    answered: (id: string, decision: Parameters<typeof emitAnswered>[2]) => emitAnswered(run(), id, decision),
  };
}

function emitAnswered(
  run: Run,
  id: string,
  decision: "allow-once" | "allow-always" | "deny" | "timeout" | "abort",
): void {
  run.stream.emit({ type: "approval_end", id, decision });
}
