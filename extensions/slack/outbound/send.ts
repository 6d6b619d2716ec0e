import type { ChatPostMessageArguments } from "@slack/web-api";
import type { ChannelLink, OutboundPart, Peer, SendOptions, SendResult } from "openclaw/plugin-sdk";
import { withButtons } from "../buttons.ts";
import { outcomeOf, ignoreRefusal, errorCodeOf } from "../transport/failures.ts";
import { metadataFor } from "./metadata.ts";
import type { MessageRef } from "../inbound/reactions.ts";
import type { AccountContext } from "./account-context.ts";
import { escapeText } from "../inbound/message-text.ts";

type TextPart = Extract<OutboundPart, { kind: "text" }>;
type Buttons = SendOptions["buttons"];

/** Slack's errors for a thread that does not exist. */
export const NO_THREAD: ReadonlySet<string> = new Set([
  "thread_not_found",
  "invalid_thread_ts",
  "cannot_reply_to_message",
]);

/** True for the id of a message, which is its time. The ids of commands have another form, and nothing can be attached to them. */
export const isTs = (id: string | undefined): boolean => id !== undefined && /^\d+\.\d+$/.test(id);

/** The thread that an answer goes to: the chat's thread, or the one below the answered message. */
export const threadFor = (to: Peer, replyTo: string | undefined): string | undefined =>
  to.thread ?? (isTs(replyTo) ? replyTo : undefined);

/** Sends a text. Never rejects. */
export async function sendText(
  account: AccountContext,
  to: Peer,
  part: TextPart,
  options: SendOptions,
): Promise<SendResult> {
  const thread = threadFor(to, options.replyTo);
  try {
    const channel = await account.channelIds.of(to);
    const { ts, channel: sentTo } = await post(account, {
      channel,
      ...envelope(account, thread, options),
      ...bodyOf(part, options.buttons),
    });
    if (ts === undefined) return { kind: "unknown", reason: "Slack's answer names no message" };
    if (sentTo !== undefined) account.channelIds.note(to.chat.id, sentTo);
    account.threads()?.noteOwnMessage(sentTo ?? channel, ts, thread);
    return { kind: "sent", messageId: ts };
  } catch (error) {
    const reduced = withoutRefusedParts(to, options, errorCodeOf(error) ?? "");
    return reduced ? sendText(account, to, part, reduced) : outcomeOf(error);
  }
}

/** The same send without the part that Slack refused. Slack refuses before it shows anything. */
function withoutRefusedParts(to: Peer, options: SendOptions, word: string): SendOptions | undefined {
  const { replyTo, buttons, ...bare } = options;
  if (word === "invalid_blocks" && buttons) return replyTo === undefined ? bare : { ...bare, replyTo };
  if (!NO_THREAD.has(word) || to.thread !== undefined || !isTs(replyTo)) return undefined;
  return buttons ? { ...bare, buttons } : bare;
}

type Shown = { readonly ts?: string; readonly channel?: string };

const post = async ({ slack }: AccountContext, message: ChatPostMessageArguments): Promise<Shown> => {
  const { ts, channel } = await slack.calls.chat.postMessage(message);
  return { ...(ts !== undefined && { ts }), ...(channel !== undefined && { channel }) };
};

function envelope({ config }: AccountContext, thread: string | undefined, options: SendOptions) {
  return {
    ...(thread !== undefined && { thread_ts: thread }),
    metadata: metadataFor(options.idempotencyKey),
    unfurl_links: config.unfurlLinks,
    unfurl_media: config.unfurlMedia,
  };
}

const isUnformatted = ({ format }: TextPart): boolean => format !== "slack-mrkdwn";

/** The text in Slack's notation. */
export const slackText = (part: TextPart): string => (isUnformatted(part) ? escapeText(part.plain) : part.body);

function bodyOf(part: TextPart, buttons: Buttons) {
  const isPlain = isUnformatted(part);
  const text = slackText(part);
  return {
    text,
    ...(isPlain && { mrkdwn: false }),
    ...(buttons && buttons.length > 0 && { blocks: withButtons(text, buttons, isPlain) }),
  };
}

type MessageChanges = Required<Pick<ChannelLink, "edit" | "remove" | "react">>;

/** Changes to messages that were sent. */
export function messageChanges(account: AccountContext): MessageChanges {
  const { streams } = account;
  const { chat, reactions } = account.slack.calls;
  const change = async (
    to: Peer,
    messageId: string,
    call: (at: MessageRef) => Promise<unknown>,
  ): Promise<SendResult> => {
    if (!isTs(messageId)) return { kind: "refused", reason: `${messageId} is not a message id` };
    try {
      await call({ channel: await account.channelIds.of(to), ts: messageId });
      return { kind: "sent", messageId };
    } catch (error) {
      return outcomeOf(error);
    }
  };
  return {
    edit: (to, messageId, part, options = {}) =>
      change(to, messageId, async (at) => {
        const { blocks, text } = bodyOf(part, options.buttons);
        if ((await streams.end(at, part)) && !blocks) return;
        // Without an empty list Slack would keep the old buttons.
        await streams.changeEnded(at, () => chat.update({ ...at, text, blocks: blocks ?? [] }));
      }),
    remove: (to, messageId) =>
      change(to, messageId, async (at) => {
        await streams.end(at);
        await streams
          .changeEnded(at, () => chat.delete(at))
          .catch((error: unknown) => ignoreRefusal(error, "message_not_found"));
      }),
    react: (to, messageId, emoji) => change(to, messageId, (at) => account.reactions.set(reactions, at, emoji)),
  };
}
