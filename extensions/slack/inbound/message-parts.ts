import type { Sender } from "openclaw/plugin-sdk";
import type { SlackMessage } from "./events.ts";
import type { People } from "./people.ts";

/** Epoch milliseconds of a Slack time, which is in seconds with a fraction that makes it unique. */
export const toMillis = (ts: string): number => Math.round(Number(ts) * 1000);

/** The text of a message. Bots often write only attachments. */
export function textOf({ text, attachments }: SlackMessage): string {
  if (text) return text;
  const own = (attachments ?? []).filter((attachment) => !isShared(attachment) && !attachment.from_url);
  return own.map((attachment) => attachment.text ?? attachment.fallback ?? "").join("\n");
}

type Attachment = NonNullable<SlackMessage["attachments"]>[number];
const isShared = (attachment: Attachment): boolean => attachment.is_share === true || attachment.is_msg_unfurl === true;

/** The lines that describe forwarded messages. */
export const forwardedLines = ({ attachments }: SlackMessage): readonly string[] =>
  (attachments ?? [])
    .filter(isShared)
    .map((attachment) => `Forwarded from ${attachment.author_name ?? "somebody"}: ${attachment.text ?? ""}`);

/** The thread of a message. Undefined in the main stream, to which the first message of a thread belongs. */
export const threadOf = ({ ts, thread_ts: thread }: Pick<SlackMessage, "ts" | "thread_ts">): string | undefined =>
  thread != null && thread !== ts ? thread : undefined;

/** Who wrote a message. Old bots have only a name. */
export async function senderOf(message: SlackMessage, people: Pick<People, "sender">): Promise<Sender> {
  const isBot = message.bot_id != null || message.subtype === "bot_message" || message.user === "USLACKBOT";
  const name = message.username ?? message.bot_profile?.name;
  const named = { ...(name != null && { name }), ...(isBot && { isBot }) };
  if (message.user == null) return { id: message.bot_id ?? "unknown", ...named, isBot: true };
  return { ...named, ...(await people.sender(message.user)) };
}
