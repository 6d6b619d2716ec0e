import type { SessionKey } from "../../types/ids.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import type { FetchedMedia } from "../media/media.ts";
import type { DispatchPorts } from "../ports.ts";

type HookPorts = Pick<DispatchPorts, "runs" | "kinds">;

/** Messages that became the text of a turn. */
interface Prepared {
  readonly rows: readonly InboxRow[];
  readonly key: SessionKey;
  /** The text of the turn, as the model sees it. */
  readonly text: string;
  readonly spoken: FetchedMedia["spoken"];
}

/**
 * Informs plugins and hooks about each message that a person wrote: that its recordings are transcribed, and that its
 * text is made.
 */
export function notifyPrepared({ rows, key, text, spoken }: Prepared, { runs: { hooks }, kinds }: HookPorts): void {
  if (!hooks.has("message:transcribed") && !hooks.has("message:preprocessed")) return;
  for (const { id, message } of rows) {
    if (kinds.of(message).actsFor) continue;
    const heard = heardIn(message, key);
    const context = contextOf(message, key);
    const said = (spoken.get(id) ?? []).filter(({ quoted }) => !quoted).map(({ words }) => words);
    const transcript = said.length > 0 ? { transcript: said.join("\n") } : undefined;
    if (transcript) hooks.notify("message:transcribed", { ...heard, ...transcript }, context);
    const texts = { body: message.text, bodyForAgent: text, content: [message.text, ...said].join("\n").trim() };
    hooks.notify("message:preprocessed", { ...heard, ...texts, ...transcript }, context);
  }
}

const heardIn = (message: InboundMessage, sessionKey: SessionKey) => ({
  from: message.from.chat.id,
  content: message.text,
  channelId: message.from.channel,
  conversationId: message.from.chat.id,
  messageId: message.id,
  senderId: message.sender.id,
  ...(message.sender.name !== undefined && { senderName: message.sender.name }),
  isGroup: message.from.chat.kind === "group",
  sessionKey,
  timestamp: message.sentAt ?? message.receivedAt,
});

const contextOf = ({ id, from, sender }: InboundMessage, sessionKey: SessionKey) => ({
  channelId: from.channel,
  accountId: from.account,
  conversationId: from.chat.id,
  sessionKey,
  senderId: sender.id,
  messageId: id,
});
