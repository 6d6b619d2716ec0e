import { channelId, DEFAULT_ACCOUNT, webEventKey } from "openclaw/plugin-sdk";
import type { InboundMessage, WebMessage } from "openclaw/plugin-sdk";

/** Converts a client's message: its chat is the session, its sender the operator. */
export function inboundOf(said: WebMessage): InboundMessage {
  const { idempotencyKey, sessionKey, thinking, model, timeoutMs, deliverTo, senderName } = said;
  return {
    id: idempotencyKey,
    eventKey: webEventKey(idempotencyKey),
    from: { channel: channelId("webchat"), account: DEFAULT_ACCOUNT, chat: { kind: "direct", id: sessionKey } },
    sender: { id: "operator", ...(senderName !== undefined && { name: senderName }) },
    text: said.text,
    media: said.media,
    mentionsBot: true,
    receivedAt: said.at,
    options: {
      operator: true,
      sessionKey,
      ...(thinking && { thinking }),
      ...(model !== undefined && { model }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(deliverTo && { deliverTo }),
    },
  };
}
