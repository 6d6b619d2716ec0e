import { chatEvent } from "../../prompt/chat-event.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import type { SessionKey } from "../../types/ids.ts";
import { kindNameOf } from "../../types/run/turn-kind.ts";
import type { DispatchPorts, Verdict } from "../ports.ts";
import { verdictOnPress } from "./presses.ts";

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

/** Whether a message may be answered. Operators' messages are. Rejects when the platform does not say where a button was pressed. */
export async function verdictOn(
  message: InboundMessage,
  ports: Pick<DispatchPorts, "clock" | "gate" | "journal" | "kinds" | "link" | "linked">,
): Promise<Verdict> {
  if (message.options?.operator === true)
    return { kind: ports.kinds.of(message).isForNextTurn?.(message) === true ? "event" : "pass" };
  const verdict = await ports.gate(message);
  return verdict.kind === "pass" && message.event === "button" ? verdictOnPress(message, ports) : verdict;
}

/** Adds a reaction, or news of a chat or of another program, to the system events of its session. Rejects when the journal cannot be written. */
export async function noteEvent(
  message: InboundMessage,
  key: SessionKey,
  { journal, kinds, labelOf }: Pick<DispatchPorts, "journal" | "kinds" | "labelOf">,
): Promise<void> {
  const text = kinds.of(message).news?.(message) ?? chatEvent(message, labelOf?.(message.from.channel));
  if (text !== undefined) await journal.events.add(key, text);
}

export const unknownKind = ({ options }: InboundMessage): string =>
  `this gateway knows no turn of the kind "${kindNameOf(options)}"`;
