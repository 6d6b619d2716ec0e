import type { Sender } from "openclaw/plugin-sdk";
import { z } from "zod";
import type { Attachment, SlackFile, SlackMessage } from "../events.ts";
import type { NameLookups } from "./people.ts";
import { escapeText } from "./message-text.ts";

/** Epoch milliseconds of a Slack time, which is in seconds with a fraction that makes it unique. */
export const toMillis = (ts: string): number => Math.round(Number(ts) * 1000);

/** The text of a message, and further text of its blocks. Slack notifies everybody who is mentioned there. */
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

/** The whole content of a message, for a place that has only a text of it. */
export const wholeText = (message: SlackMessage): string =>
  [textOf(message), ...forwardedIn(message).map(forwardedText)].filter((text) => text !== "").join("\n");

/** The files of a message and of the messages that it forwards. */
export const filesOf = (message: SlackMessage): readonly SlackFile[] =>
  [message, ...forwardedIn(message)].flatMap(({ files }) => files ?? []);

/** The thread of a message. Undefined in the main stream, to which the first message of a thread belongs. */
export const threadOf = ({ ts, thread_ts: thread }: Pick<SlackMessage, "ts" | "thread_ts">): string | undefined =>
  thread != null && thread !== ts ? thread : undefined;

/** Who wrote a message. Old bots have only a name. */
export async function senderOf(message: SlackMessage, people: Pick<NameLookups, "sender">): Promise<Sender> {
  const isBot = message.bot_id != null || message.subtype === "bot_message" || message.user === "USLACKBOT";
  const name = message.username ?? message.bot_profile?.name;
  const named = { ...(name != null && { name }), ...(isBot && { isBot }) };
  if (message.user == null) return { id: message.bot_id ?? "unknown", ...named, isBot: true };
  return { ...named, ...(await people.sender(message.user)) };
}

/** How deep blocks are read. Slack's own go six levels down: a table, its row, its cell, a list, an item, a word. */
const MOST_LEVELS = 8;

const maybe = <T>(shape: z.ZodType<T>) => shape.optional().catch(undefined);
/** Blocks, their elements and text objects alike: docs.slack.dev/reference/block-kit */
const partShape = z.object({
  type: z.string().catch(""),
  text: z.unknown().optional(),
  title: z.unknown().optional(),
  description: z.unknown().optional(),
  accessory: z.unknown().optional(),
  fields: maybe(z.array(z.unknown())),
  elements: maybe(z.array(z.unknown())),
  rows: maybe(z.array(z.unknown())),
  alt_text: maybe(z.string()),
  image_url: maybe(z.string()),
  title_url: maybe(z.string()),
  url: maybe(z.string()),
  user_id: maybe(z.string()),
  channel_id: maybe(z.string()),
  usergroup_id: maybe(z.string()),
  name: maybe(z.string()),
  range: maybe(z.string()),
  fallback: maybe(z.string()),
});
type Part = z.output<typeof partShape>;

/** The type of blocks that a person writes. Slack puts their text into the message's text as well. */
const WRITTEN_BY_PEOPLE = "rich_text";

const typeOf = (block: unknown): string | undefined => partShape.safeParse(block).data?.type;

/** The text of a block, in Slack's notation. Empty where it has none, such as a line between two others. */
function blockText(block: unknown, level = 0): string {
  // A row of a table is a list of cells.
  if (Array.isArray(block)) return joined(block, " | ", level);
  const part = partShape.safeParse(block).data;
  if (!part || level > MOST_LEVELS) return "";
  return WORDS[part.type]?.(part) ?? textOfPart(part, level);
}

/** The text of each kind of part that names something: a user, a channel, a group, an emoji, a date. */
const WORDS: Readonly<Record<string, (part: Part) => string | undefined>> = {
  user: ({ user_id: id }) => id && `<@${id}>`,
  channel: ({ channel_id: id }) => id && `<#${id}>`,
  usergroup: ({ usergroup_id: id }) => id && `<!subteam^${id}>`,
  broadcast: ({ range }) => range && `<!${range}>`,
  emoji: ({ name }) => name && `:${name}:`,
  date: ({ fallback }) => fallback && escapeText(fallback),
};

/** Text between the elements of a part; elements of any other part are on lines of their own. */
const BETWEEN: Readonly<Record<string, string>> = {
  rich_text_section: "",
  rich_text_quote: "",
  rich_text_preformatted: "",
  context: " ",
  actions: " | ",
};

function textOfPart(part: Part, level: number): string {
  const { type, text, title, description, accessory, fields = [], elements = [], rows = [] } = part;
  // Text objects of the type mrkdwn and plain_text are escaped; other texts are unescaped.
  const isEscaped = type === "mrkdwn" || type === "plain_text";
  const written = isEscaped ? String(text) : escapeText(String(text));
  const own = typeof text === "string" ? written : blockText(text, level + 1);
  const mark = type === "rich_text_list" ? "• " : "";
  const lines = [
    blockText(title, level + 1),
    withAddress(own, part),
    blockText(description, level + 1),
    joined(fields, "\n", level),
    elements
      .map((element) => blockText(element, level + 1))
      .filter((line) => line !== "")
      .map((line) => mark + line)
      .join(BETWEEN[type] ?? "\n"),
    joined(rows, "\n", level),
    pictureOf(part),
    blockText(accessory, level + 1),
  ];
  return lines.filter((line) => line !== "").join("\n");
}

const joined = (parts: readonly unknown[], between: string, level: number): string =>
  parts
    .map((part) => blockText(part, level + 1))
    .filter((text) => text !== "")
    .join(between);

const withAddress = (text: string, { url }: Part): string => {
  if (url === undefined) return text;
  return text === "" ? `<${escapeText(url)}>` : `<${escapeText(url)}|${text}>`;
};

const pictureOf = ({ alt_text: words, image_url: picture, title_url: page }: Part): string =>
  [words, picture ?? page].flatMap((one) => (one === undefined ? [] : [escapeText(one)])).join(" ");
