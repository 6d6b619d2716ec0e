import type { ChatPostMessageArguments } from "@slack/web-api";
import type { ChannelLink, OutboundPart, Peer, SendOptions, SendResult } from "openclaw/plugin-sdk";
import { withButtons } from "./buttons.ts";
import { outcomeOf, unless, wordOf } from "../transport/failures.ts";
import { marked } from "../inbound/mark.ts";
import type { Target } from "../inbound/reactions.ts";
import type { Room } from "../room.ts";
import { escapeText } from "../inbound/words.ts";

type TextPart = Extract<OutboundPart, { kind: "text" }>;
type Buttons = SendOptions["buttons"];

/** Slack's words for a thread that is not there. */
export const NO_THREAD: ReadonlySet<string> = new Set([
  "thread_not_found",
  "invalid_thread_ts",
  "cannot_reply_to_message",
]);

/** A message's id is its time; commands have other ids, to which nothing can be tied. */
export const isTs = (id: string | undefined): boolean => id !== undefined && /^\d+\.\d+$/.test(id);

/** The thread that an answer goes to: the chat's, or the one below the message that it answers. */
export const threadFor = (to: Peer, replyTo: string | undefined): string | undefined =>
  to.thread ?? (isTs(replyTo) ? replyTo : undefined);

/** Never rejects. */
export async function sendText(room: Room, to: Peer, part: TextPart, options: SendOptions): Promise<SendResult> {
  const thread = threadFor(to, options.replyTo);
  try {
    const channel = await room.channelIds.of(to);
    const { ts } = await post(room, { channel, ...envelope(room, thread, options), ...bodyOf(part, options.buttons) });
    if (ts === undefined) return { kind: "unknown", reason: "Slack names no message" };
    room.threads()?.wrote(channel, ts, thread);
    return { kind: "sent", messageId: ts };
  } catch (error) {
    const humbler = withoutRefused(to, options, wordOf(error) ?? "");
    return humbler ? sendText(room, to, part, humbler) : outcomeOf(error);
  }
}

/** The same send without what Slack refused, which it does before it shows anything. */
function withoutRefused(to: Peer, options: SendOptions, word: string): SendOptions | undefined {
  const { replyTo, buttons, ...bare } = options;
  if (word === "invalid_blocks" && buttons) return replyTo === undefined ? bare : { ...bare, replyTo };
  if (!NO_THREAD.has(word) || to.thread !== undefined || !isTs(replyTo)) return undefined;
  return buttons ? { ...bare, buttons } : bare;
}

const post = async ({ slack }: Room, message: ChatPostMessageArguments): Promise<{ ts?: string }> => {
  const { ts } = await slack.calls.chat.postMessage(message);
  return ts === undefined ? {} : { ts };
};

function envelope({ config }: Room, thread: string | undefined, options: SendOptions) {
  return {
    ...(thread !== undefined && { thread_ts: thread }),
    metadata: marked(options.idempotencyKey),
    unfurl_links: config.unfurlLinks,
    unfurl_media: config.unfurlMedia,
  };
}

const isUnformatted = ({ format }: TextPart): boolean => format !== "slack-mrkdwn";

/** Text as Slack reads it. */
export const written = (part: TextPart): string => (isUnformatted(part) ? escapeText(part.plain) : part.body);

function bodyOf(part: TextPart, buttons: Buttons) {
  const isPlain = isUnformatted(part);
  const text = written(part);
  return {
    text,
    ...(isPlain && { mrkdwn: false }),
    ...(buttons && buttons.length > 0 && { blocks: withButtons(text, buttons, isPlain) }),
  };
}

type Changes = Required<Pick<ChannelLink, "edit" | "remove" | "react">>;

/** What can be done to messages that are there. */
export function changes(room: Room): Changes {
  const { streams } = room;
  const { chat, reactions } = room.slack.calls;
  const change = async (to: Peer, messageId: string, call: (at: Target) => Promise<unknown>): Promise<SendResult> => {
    if (!isTs(messageId)) return { kind: "refused", reason: `${messageId} is no message` };
    try {
      await call({ channel: await room.channelIds.of(to), ts: messageId });
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
        // Without an empty list the buttons of before would stay.
        await streams.settled(at, () => chat.update({ ...at, text, blocks: blocks ?? [] }));
      }),
    remove: (to, messageId) =>
      change(to, messageId, async (at) => {
        await streams.end(at);
        await streams.settled(at, () => chat.delete(at)).catch((error: unknown) => unless(error, "message_not_found"));
      }),
    react: (to, messageId, emoji) => change(to, messageId, (at) => room.reactions.set(reactions, at, emoji)),
  };
}
