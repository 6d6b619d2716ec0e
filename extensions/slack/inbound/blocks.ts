import { z } from "zod";
import { escapeText } from "./message-text.ts";

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
export const WRITTEN_BY_PEOPLE = "rich_text";

export const typeOf = (block: unknown): string | undefined => partShape.safeParse(block).data?.type;

/** The text of a block, in Slack's notation. Empty where it has none, such as a line between two others. */
export function blockText(block: unknown, level = 0): string {
  // A row of a table is a list of cells.
  if (Array.isArray(block)) return joined(block, " | ", level);
  const part = partShape.safeParse(block).data;
  if (!part || level > MOST_LEVELS) return "";
  return WORDS[part.type]?.(part) ?? textOfPart(part, level);
}

/** Parts of a line of rich text whose text stands for something else. */
const WORDS: Readonly<Record<string, (part: Part) => string | undefined>> = {
  user: ({ user_id: id }) => id && `<@${id}>`,
  channel: ({ channel_id: id }) => id && `<#${id}>`,
  usergroup: ({ usergroup_id: id }) => id && `<!subteam^${id}>`,
  broadcast: ({ range }) => range && `<!${range}>`,
  emoji: ({ name }) => name && `:${name}:`,
  date: ({ fallback }) => fallback && escapeText(fallback),
};

/** How the elements of a part stand to each other; those of any other part are on lines of their own. */
const BETWEEN: Readonly<Record<string, string>> = {
  rich_text_section: "",
  rich_text_quote: "",
  rich_text_preformatted: "",
  context: " ",
  actions: " | ",
};

function textOfPart(part: Part, level: number): string {
  const { type, text, title, description, accessory, fields = [], elements = [], rows = [] } = part;
  // Text objects of the type mrkdwn and plain_text are escaped, other texts are as they were written.
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
