import type { InboundMessage } from "../../types/chat/message.ts";
import type { SessionKey } from "../../types/ids.ts";
import { kindNameOf } from "../../types/run/turn-kind.ts";
import type { DispatchPorts } from "../ports.ts";

/** Whether a plugin has the hook `message_received`. */
export const isReceivedWatched = ({ hooks }: Pick<DispatchPorts, "hooks">): boolean =>
  hooks?.has("message_received") === true;

/** Calls `message_received` for a message that the gateway answers. Nobody waits for it. */
export function notifyReceived(
  message: InboundMessage,
  sessionKey: SessionKey,
  { hooks }: Pick<DispatchPorts, "hooks">,
): void {
  if (!hooks || !isReceivedWatched({ hooks })) return;
  const { id, from, sender, text, sentAt, receivedAt } = message;
  const event = {
    content: text,
    from: from.chat.id,
    senderId: sender.id,
    timestamp: sentAt ?? receivedAt,
    isGroup: from.chat.kind === "group",
    messageId: id,
    sessionKey,
    ...(from.thread !== undefined && { threadId: from.thread }),
    ...(message.replyTo && { replyToId: message.replyTo.id }),
    metadata: {
      channel: from.channel,
      ...(sender.name !== undefined && { senderName: sender.name }),
      ...(sender.username !== undefined && { senderUsername: sender.username }),
    },
  };
  const place = { channelId: from.channel, accountId: from.account, conversationId: from.chat.id };
  const context = { ...place, sessionKey, senderId: sender.id, messageId: id };
  hooks.notify("message_received", event, context);
}

/** Why a message is only kept for the next answer. */
export const whyNotAnswered = ({ event }: InboundMessage): string =>
  event === "reaction" ? "heard, not answered" : "not mentioned";

export const unknownKind = ({ options }: InboundMessage): string =>
  `this gateway knows no turn of the kind "${kindNameOf(options)}"`;
