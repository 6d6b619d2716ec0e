import { channelId, DEFAULT_ACCOUNT } from "../../src/types/ids.ts";
import type { KeyValue } from "../../src/types/journal.ts";
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

/** Small values that live as long as the test. */
export function memoryValues(): KeyValue {
  const values = new Map<string, string>();
  return { get: async (key) => values.get(key), set: async (key, value) => void values.set(key, value) };
}
