import type { InboxRow } from "../../types/journal.ts";
import type { DispatchPorts } from "../ports.ts";

/**
 * Lets adapters end the waiting state of menu commands and pressed buttons that get no answer of their own. `reason` is for their
 * senders alone. Never throws.
 */
export function leaveUnanswered(
  rows: readonly InboxRow[],
  { link, log }: Pick<DispatchPorts, "link" | "log">,
  reason?: string,
): void {
  for (const { id, message } of rows) {
    if (message.event !== "command" && message.event !== "button") continue;
    link(message.from)
      ?.clearPending?.(message, reason)
      .catch((error: unknown) => log.warn("the adapter still shows a message as queued", { inbox: id, error }));
  }
}
