import type { TextFormat, TextStyle } from "../../types/chat/reply.ts";
import { cutPlace } from "../markdown/cut.ts";
import { type Layout } from "../markdown/flatten.ts";
import { inChunks } from "../markdown/in-chunks.ts";
import { plainOf } from "../markdown/plain.ts";
import type { StyledText } from "../markdown/styled.ts";
import type { Dialect } from "./dialect.ts";
import { discordMarkdown } from "./discord.ts";
import { plainText, signalStyled } from "./signal.ts";
import { slackMrkdwn } from "./slack.ts";
import { whatsAppText } from "./whatsapp.ts";
import { write } from "./write.ts";

export type ChatFormat = Exclude<TextFormat, "telegram-html" | "markdown">;

const DIALECTS: Readonly<Record<ChatFormat, Dialect>> = {
  "slack-mrkdwn": slackMrkdwn,
  discord: discordMarkdown,
  "signal-styled": signalStyled,
  whatsapp: whatsAppText,
  plain: plainText,
};

/** One message. */
export interface FormattedChunk {
  readonly body: string;
  readonly plain: string;
  /** Of a `signal-styled` body. */
  readonly styles?: readonly TextStyle[];
}

export interface ChunkOptions {
  /** UTF-16 units that no body exceeds, marks included. */
  readonly limit: number;
  /** Lines that no body exceeds, where that is possible. */
  readonly lines?: number | undefined;
  readonly tables?: Layout["tables"];
}

/**
 * Renders Markdown for a chat platform, in as many messages as it takes: cut at blocks, else lines, else words. Marks
 * and fences are closed at a cut and opened again; a link that fits is never cut. Markdown that shows nothing is sent as
 * it was written; text without visible signs gives no chunk. Never throws.
 */
export function renderChunks(markdown: string, format: ChatFormat, options: ChunkOptions): FormattedChunk[] {
  const dialect = DIALECTS[format];
  const layout = { tables: options.tables, links: dialect.links };
  return inChunks(markdown, layout, (styled, from) => nextChunk(styled, from, { ...options, dialect }));
}

type Cutting = ChunkOptions & { readonly dialect: Dialect };

function nextChunk(styled: StyledText, from: number, cutting: Cutting): { to: number; chunk: FormattedChunk } {
  const { limit, dialect } = cutting;
  const most = cutting.lines ?? Infinity;
  let lines = most;
  for (let space = limit; ;) {
    const cut = cutPlace(styled, from, Math.max(1, Math.min(space, unitsOfLines(styled.text, from, lines))));
    const to = from + styled.text.slice(from, cut).trimEnd().length;
    const bare = space < limit / 4 ? withoutLinks(styled) : styled;
    const { body, styles } = write(bare, { from, to }, dialect);
    const over = body.split("\n").length - most;
    if (space < 2 || (body.length <= limit && (over <= 0 || lines <= 1))) {
      const plain = plainOf(bare, from, to);
      const fits = plain.length <= limit ? plain : styled.text.slice(from, to);
      return { to: cut, chunk: { body, plain: fits, ...(dialect.ranges && { styles }) } };
    }
    if (body.length > limit) space = Math.floor(space * 0.75);
    else lines = Math.max(1, lines - over);
  }
}

/** A single long address can exceed any limit. Then only its label is shown. */
const withoutLinks = (styled: StyledText): StyledText => ({
  ...styled,
  spans: styled.spans.filter((span) => span.style.kind !== "link"),
});

/** Units up to the end of the last line that fits. */
function unitsOfLines(text: string, from: number, lines: number): number {
  if (lines === Infinity) return Infinity;
  let at = from - 1;
  for (let line = 0; line < lines; line += 1) {
    at = text.indexOf("\n", at + 1);
    if (at < 0) return Infinity;
  }
  return at - from;
}
