import type { InboundMessage, Sender } from "../../types/chat/message.ts";
import { fromOperator, prepend, turnMessages, type BodyContext, type BodyStage } from "../draft.ts";
import { timestamp } from "../timestamp.ts";
import { jsonBlock } from "../untrusted.ts";

/** Undefined facts are left out of the JSON; a flag is there when it is true. */
function conversationInfo(message: InboundMessage, timezone: string): Record<string, unknown> {
  const isGroup = message.from.chat.kind === "group";
  const { threadName, threadStarter, isForwarded } = message.context ?? {};
  return {
    message_id: message.id,
    reply_to_id: message.replyTo?.id,
    sender_id: message.sender.id,
    sender: message.sender.name,
    timestamp: timestamp(message.sentAt ?? message.receivedAt, timezone),
    group_subject: isGroup ? message.from.chat.title : undefined,
    thread_label: threadName,
    topic_id: message.from.thread,
    is_edit: flag(message.isEdit),
    was_mentioned: flag(isGroup && message.mentionsBot),
    has_reply_context: flag(message.replyTo !== undefined),
    has_forwarded_context: flag(isForwarded),
    has_thread_starter: flag(threadStarter !== undefined),
  };
}

const flag = (fact: boolean | undefined): true | undefined => (fact === true ? true : undefined);

function senderInfo(sender: Sender): Record<string, unknown> {
  const name = sender.name ?? sender.username;
  const address = sender.e164 ?? sender.id;
  return {
    label: name === undefined ? address : `${name} (${address})`,
    name: sender.name,
    username: sender.username,
    e164: sender.e164,
    is_bot: flag(sender.isBot),
  };
}

function repliedTo(message: InboundMessage): string | undefined {
  const quoted = message.replyTo;
  const files = quoted?.media?.map(({ kind }) => kind) ?? [];
  if (!quoted || (quoted.text === undefined && files.length === 0)) {
    return undefined;
  }
  return jsonBlock("Replied message (untrusted, for context):", {
    sender_label: quoted.sender,
    from_assistant: flag(quoted.fromBot),
    body: quoted.text,
    spoken: quoted.spoken,
    files: files.length === 0 ? undefined : files,
  });
}

function chatHistory(context: BodyContext): string | undefined {
  if (context.pendingHistory.length === 0) {
    return undefined;
  }
  return jsonBlock(
    "Chat history since last reply (untrusted, for context):",
    context.pendingHistory.map((line) => ({ sender: line.sender, timestamp_ms: line.at, body: line.text })),
  );
}

function one<T>(items: readonly T[]): T | readonly T[] {
  const [first] = items;
  return items.length === 1 && first !== undefined ? first : items;
}

/** Who wrote where and in reply to what, as JSON that is marked as untrusted. Nothing for the operator. */
export const untrustedMetadata: BodyStage = {
  name: "untrustedMetadata",
  source: "the channel",
  apply(draft, context) {
    if (fromOperator(context)) {
      return draft;
    }
    const messages = turnMessages(context);
    const senders = new Map(messages.map((message) => [message.sender.id, message.sender]));
    const lines = context.pendingHistory.length;
    const info = one(
      messages.map((message, index) => ({
        ...conversationInfo(message, context.timezone),
        history_count: index === 0 && lines > 0 ? lines : undefined,
      })),
    );
    return prepend(
      draft,
      jsonBlock("Conversation info (untrusted metadata):", info),
      jsonBlock("Sender (untrusted metadata):", one([...senders.values()].map(senderInfo))),
      ...messages.map(repliedTo),
      chatHistory(context),
    );
  },
};
