import { channelId, DEFAULT_ACCOUNT, webEventKey } from "openclaw/plugin-sdk";
import type { InboundMessage, WebMessage } from "openclaw/plugin-sdk";

/** Converts a client's message. Its chat is the session; its sender is the operator. */
export function inboundOf(message: WebMessage): InboundMessage {
  const { idempotencyKey, sessionKey, thinking, model, timeoutMs, deliverTo, senderName, client } = message;
  return {
    id: idempotencyKey,
    eventKey: webEventKey(idempotencyKey),
    from: { channel: channelId("webchat"), account: DEFAULT_ACCOUNT, chat: { kind: "direct", id: sessionKey } },
    sender: { id: "operator", ...(senderName !== undefined && { name: senderName }) },
    text: message.text,
    media: message.media,
    mentionsBot: true,
    receivedAt: message.at,
    options: {
      operator: true,
      sessionKey,
      ...(thinking && { thinking }),
      ...(model !== undefined && { model }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(deliverTo && { deliverTo }),
      ...(client && { client, kind: "request" }),
    },
  };
}
