import type { Sender } from "openclaw/plugin-sdk";
import { blockText, typeOf, WRITTEN_BY_PEOPLE } from "./blocks.ts";
import type { Attachment, SlackFile, SlackMessage } from "./events.ts";
import type { Names } from "./people.ts";

/** Epoch milliseconds of a Slack time, which is in seconds with a fraction that makes it unique. */
export const toMillis = (ts: string): number => Math.round(Number(ts) * 1000);

/** The text of a message, and what its blocks say besides. Slack notifies whoever is mentioned there. */
export function writtenIn({ text, blocks, user, bot_id: bot }: SlackMessage): string {
  const isPersons = user != null && bot == null;
  const shown = (blocks ?? []).filter((block) => !isPersons || !text || typeOf(block) !== WRITTEN_BY_PEOPLE);
  return withMore(
    text ?? "",
    shown.map((block) => blockText(block)),
  );
}

/** All that a message shows, with the attachments of bots and without previews of links. */
export function textOf(message: SlackMessage): string {
  const own = (message.attachments ?? []).filter((attachment) => !isShared(attachment) && !isPreview(attachment));
  return withMore(writtenIn(message), own.map(attachmentText));
}

/** A text with the others that are not in it. A bot's text often repeats its blocks, for programs that cannot show them. */
function withMore(text: string, others: readonly string[]): string {
  return others.reduce((all, other) => {
    const isIn = lettersOf(other) === "" ? all.includes(other) : lettersOf(all).includes(lettersOf(other));
    return isIn ? all : [all, other].filter((part) => part !== "").join("\n");
  }, text);
}

const lettersOf = (text: string): string => text.replaceAll(/[^\p{L}\p{N}]+/gu, "");

const isShared = (attachment: Attachment): boolean => attachment.is_share === true || attachment.is_msg_unfurl === true;
const isPreview = ({ from_url: page, is_app_unfurl: isApps }: Attachment): boolean => Boolean(page) || isApps === true;

function attachmentText(attachment: Attachment): string {
  const { pretext, author_name: author, title, title_link: link, text, fields, image_url: image, footer } = attachment;
  const shown = [
    pretext,
    author,
    [title, link].filter(Boolean).join(" "),
    text,
    ...(fields ?? []).map((field) => [field.title, field.value].filter(Boolean).join(": ")),
    ...(attachment.blocks ?? []).map((block) => blockText(block)),
    image,
    footer,
  ].filter(Boolean);
  return shown.length > 0 ? shown.join("\n") : (attachment.fallback ?? "");
}

/** The messages that a message forwards. */
export const forwardedIn = ({ attachments }: SlackMessage): readonly Attachment[] =>
  (attachments ?? []).filter(isShared);

/** The line that describes a forwarded message, in Slack's notation. */
export function forwardedText(attachment: Attachment): string {
  const { author_name: author, text, message_blocks: shared } = attachment;
  const blocks = (shared ?? []).flatMap(({ message }) => message.blocks ?? []);
  const all = withMore(
    text ?? "",
    [...blocks, ...(attachment.blocks ?? [])].map((block) => blockText(block)),
  );
  return `Forwarded from ${author ?? "somebody"}: ${all}`;
}

/** All that a message says, for a place that has only a text of it. */
export const wholeText = (message: SlackMessage): string =>
  [textOf(message), ...forwardedIn(message).map(forwardedText)].filter((text) => text !== "").join("\n");

/** The files of a message and of the messages that it forwards. */
export const filesOf = (message: SlackMessage): readonly SlackFile[] =>
  [message, ...forwardedIn(message)].flatMap(({ files }) => files ?? []);

/** The thread of a message. Undefined in the main stream, to which the first message of a thread belongs. */
export const threadOf = ({ ts, thread_ts: thread }: Pick<SlackMessage, "ts" | "thread_ts">): string | undefined =>
  thread != null && thread !== ts ? thread : undefined;

/** Who wrote a message. Old bots have only a name. */
export async function senderOf(message: SlackMessage, people: Pick<Names, "sender">): Promise<Sender> {
  const isBot = message.bot_id != null || message.subtype === "bot_message" || message.user === "USLACKBOT";
  const name = message.username ?? message.bot_profile?.name;
  const named = { ...(name != null && { name }), ...(isBot && { isBot }) };
  if (message.user == null) return { id: message.bot_id ?? "unknown", ...named, isBot: true };
  return { ...named, ...(await people.sender(message.user)) };
}
