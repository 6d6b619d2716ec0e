import type { InboundMessage } from "../../types/chat/message.ts";

/** The message as the chat that is answered knows it: an operator's has no id there that could be quoted. */
export function addressed(message: InboundMessage): InboundMessage | undefined {
  if (message.options?.operator !== true) return message;
  const { deliverTo } = message.options;
  return deliverTo && { ...message, id: "", from: deliverTo };
}
