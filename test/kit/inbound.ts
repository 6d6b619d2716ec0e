import { accountId, channelId, DEFAULT_ACCOUNT } from "../../src/types/ids.ts";
import type { InboundMessage, Peer, Sender } from "../../src/types/chat/message.ts";

/** A plain direct message with the given differences. */
export function message(
  more: {
    chat?: Peer["chat"];
    sender?: Sender;
    text?: string;
    mentionsBot?: boolean;
    thread?: string;
    sentAt?: number;
  } = {},
): InboundMessage {
  const { chat = { kind: "direct", id: "7" }, sender = { id: "7" }, thread, sentAt } = more;
  return {
    id: "1",
    eventKey: "u1",
    from: { channel: channelId("telegram"), account: DEFAULT_ACCOUNT, chat, ...(thread !== undefined && { thread }) },
    sender,
    text: more.text ?? "hello",
    media: [],
    mentionsBot: more.mentionsBot ?? true,
    receivedAt: 1,
    ...(sentAt !== undefined && { sentAt }),
  };
}

export const peer = (id: string): Peer => ({
  channel: channelId("telegram"),
  account: accountId("default"),
  chat: { kind: "direct", id },
});

let events = 0;

/** The next message of a person in a direct chat with the id `from`. */
export function nextMessage(text: string, from = "1", more: Partial<InboundMessage> = {}): InboundMessage {
  events += 1;
  return {
    id: `msg-${events}`,
    eventKey: `event-${events}`,
    from: peer(from),
    sender: { id: from, name: `User ${from}` },
    text,
    media: [],
    mentionsBot: true,
    receivedAt: Date.now(),
    ...more,
  };
}
