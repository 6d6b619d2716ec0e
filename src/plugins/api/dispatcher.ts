import { isFields, type Fields } from "../../utils/fields.ts";
import { optionalMethodIn } from "./foreign.ts";

export interface TypingCallbacks {
  onReplyStart(): unknown;
  onIdle(): unknown;
  onCleanup(): unknown;
}

/** The typing indicator that the options of a dispatcher have, if any: in `typingCallbacks`, or among the options themselves. */
export function typingOf(options: Fields): TypingCallbacks | undefined {
  const given = isFields(options["typingCallbacks"]) ? options["typingCallbacks"] : options;
  const start = optionalMethodIn(given, "onReplyStart");
  const idle = optionalMethodIn(given, "onIdle");
  const cleanup = optionalMethodIn(given, "onCleanup");
  return start && { onReplyStart: () => start(), onIdle: () => idle?.(), onCleanup: () => cleanup?.() };
}

/**
 * A dispatcher of the field: messages that the plugin itself puts into it go to its `deliver`, in order. Answers of
 * agents do not pass through it: they are in the gateway's outbox and leave by `outbound`.
 */
export function createDispatcher(options: Fields) {
  const deliver = optionalMethodIn(options, "deliver");
  const onError = optionalMethodIn(options, "onError");
  const counts = { tool: 0, block: 0, final: 0 };
  let queue: Promise<unknown> = Promise.resolve();
  const put = (kind: keyof typeof counts) => (payload: unknown) => {
    counts[kind]++;
    queue = queue.then(() => deliver?.(payload, { kind })).catch((error: unknown) => onError?.(error, { kind }));
    return true;
  };
  return {
    sendToolResult: put("tool"),
    sendBlockReply: put("block"),
    sendFinalReply: put("final"),
    waitForIdle: async () => void (await queue),
    getQueuedCounts: () => ({ ...counts }),
    getFailedCounts: () => ({ tool: 0, block: 0, final: 0 }),
    markComplete: () => undefined,
  };
}
