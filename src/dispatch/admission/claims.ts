import type { InboundMessage } from "../../types/chat/message.ts";
import type { HookContext } from "../../types/hook/hooks.ts";
import type { SessionKey } from "../../types/ids.ts";
import { cutLong } from "../../plugins/longest-text.ts";
import { isFields } from "../../utils/fields.ts";
import type { DispatchPorts } from "../ports.ts";

/** A plugin that takes a message, and the plugin's answer; an empty text means that nobody is answered. */
export interface PluginClaim {
  readonly owner: string;
  readonly text: string;
}

/** Hooks that may take a message, in the order in which they are asked. */
const CLAIMING = ["inbound_claim", "before_dispatch"] as const;

type ClaimPorts = Pick<DispatchPorts, "runs" | "kinds">;

/** Whether plugins are to be asked for this message. */
export const mayBeClaimed = (message: InboundMessage, { runs: { hooks }, kinds }: ClaimPorts): boolean =>
  hooks !== undefined && kinds.of(message).takesCommands && CLAIMING.some((name) => hooks.has(name));

/**
 * Asks the plugins whether one of them answers the message instead of the agent. The first one that takes it ends the
 * search.
 */
export async function claimOf(
  message: InboundMessage,
  sessionKey: SessionKey,
  { runs: { hooks } }: Pick<DispatchPorts, "runs">,
): Promise<PluginClaim | undefined> {
  const event = eventOf(message, sessionKey);
  const { channel: channelId, accountId, conversationId, senderId, messageId } = event;
  const context: HookContext = { channelId, accountId, conversationId, sessionKey, senderId, messageId };
  for (const name of CLAIMING) {
    const claim = await hooks?.first({ name, event, context }, claimIn);
    if (claim) return claim;
  }
  return undefined;
}

/**
 * The claim in a hook's answer: `{handled: true, reply: {text}}` of `inbound_claim`, `{handled: true, text}` of
 * `before_dispatch`.
 */
function claimIn(answer: unknown, owner: string): PluginClaim | undefined {
  if (!isFields(answer) || answer["handled"] !== true) return undefined;
  const reply = isFields(answer["reply"]) ? answer["reply"] : answer;
  const text = reply["text"];
  return { owner, text: typeof text === "string" ? cutLong(text.trim()) : "" };
}

function eventOf({ id, from, sender, text, replyTo, ...rest }: InboundMessage, sessionKey: SessionKey) {
  const { sentAt, receivedAt, mentionsBot } = rest;
  return {
    content: text,
    body: text,
    channel: from.channel,
    accountId: from.account,
    conversationId: from.chat.id,
    senderId: sender.id,
    messageId: id,
    sessionKey,
    timestamp: sentAt ?? receivedAt,
    isGroup: from.chat.kind === "group",
    wasMentioned: mentionsBot,
    ...(sender.name !== undefined && { senderName: sender.name }),
    ...(sender.username !== undefined && { senderUsername: sender.username }),
    ...(from.thread !== undefined && { threadId: from.thread }),
    ...(replyTo && { replyToId: replyTo.id, ...(replyTo.text !== undefined && { replyToBody: replyTo.text }) }),
  };
}
